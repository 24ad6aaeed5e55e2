/* The text of -h. */
#include "agent/config/settings.h"

static const char text[] =
    "usage: sandagentfs [options] [SOURCE] MOUNTPOINT\n"
    "\n"
    "Mounts a directory of AI agents: mkdir makes one, writing its `prompt`\n"
    "runs a turn, `log`, `reply` and `workspace/` show what it does.\n"
    "fusermount3 -u MOUNTPOINT ends it.\n"
    "\n"
    "    -f  stay in the foreground      -d  the same, with debug output\n"
    "    -s  one worker                  -h  this help\n"
    "    -V  versions                    -o  options, separated by commas\n"
    "\n"
    "options, as -o name=value or --name value (in -o write \\, for a comma):\n"
    "    model=PROVIDER:NAME     nvidia:nvidia/nemotron-3-ultra-550b-a55b;\n"
    "                            shell: runs the prompt as a command,\n"
    "                            script:FILE replays recorded replies\n"
    "    base_url=URL            where the model is, if not at its provider's\n"
    "    sandbox=daytona|local   daytona if DAYTONA_API_KEY is set, else local\n"
    "    api_url=URL             of Daytona, or DAYTONA_API_URL\n"
    "    target=REGION           of Daytona, or DAYTONA_TARGET\n"
    "    ttl_minutes=N           life of a sandbox after its last use: 60,\n"
    "                            local 0 (for ever)\n"
    "    stop_minutes=N          idle minutes until a sandbox is stopped: 15\n"
    "    on_exit=stop|keep|delete  sandboxes at unmount: stop\n"
    "    env_file=FILE           keys; else .env here or above, then\n"
    "                            ~/.config/sandagentfs/env\n"
    "    state_dir=DIR           conversations: ~/.local/state/sandagentfs\n"
    "    cache_dir=DIR           copies of files: ~/.cache/sandagentfs\n"
    "    cache_size=SIZE         1G\n"
    "    max_turns=N             running at once: 16\n"
    "    snapshots=on|off        files as each turn left them: on\n"
    "    links=safe|raw          links that leave the workspace: safe\n"
    "    log_level=error|warn|info|debug  diagnostics: info\n"
    "    allow_other, ro, fsname=NAME and the words of mount(8)\n"
    "\n"
    "Keys (DAYTONA_API_KEY, NVIDIA_API_KEY, ...) come from the environment or\n"
    ".env, never from the command line.\n"
    "commands: sandagentfs threads | export | gc | sandboxes\n";

const char *
settings_usage(void)
{
	return text;
}
