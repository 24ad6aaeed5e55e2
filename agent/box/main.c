/* Arguments, and which of the two roles. */
#include <microhttpd.h>

#include "agent/base/json.h"
#include "agent/box/cage.h"
#include "agent/box/inside.h"
#include "agent/box/outside.h"

int
main(int argc, char **argv)
{
	struct options o;
	struct status st;

	if (options_parse(&o, argc, argv, &st) < 0) {
		fprintf(stderr, "sandagentfs-box: %s\n", st.text);
		return 1;
	}
	if (o.help) {
		fputs(options_usage, stdout);
		return 0;
	}
	if (o.version) {
		printf("sandagentfs-box %s (libmicrohttpd %s, cJSON %s)\n",
		    SAF_VERSION, MHD_get_version(), cJSON_Version());
		return 0;
	}
	if (o.check) {
		struct cage_settings probe = { 0 };
		if (cage_probe(&probe, &st) == 0)
			return 0;
		fprintf(stderr, "%s\n", st.text);
		return 1;
	}
	if (o.inside)
		inside_run(&o);
	return outside_run(&o);
}
