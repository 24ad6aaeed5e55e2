/* The tools themselves, one a file; for table.c alone. */
#ifndef AGENT_TOOLS_TABLE_H
#define AGENT_TOOLS_TABLE_H

#include "agent/tools/tool.h"

extern const struct tool tool_ls, tool_read_file, tool_write_file,
    tool_edit_file, tool_glob, tool_grep, tool_execute;

#endif
