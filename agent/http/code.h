/* The one table from HTTP statuses to status codes. Pure. */
#ifndef AGENT_HTTP_CODE_H
#define AGENT_HTTP_CODE_H

#include "agent/base/status.h"

/* OK for 2xx. What a peer means by a status beyond this table (a proxy's 401
 * for a sandbox that is gone, say) is for its own layer to tell. */
enum status_code http_code(int http_status);

#endif
