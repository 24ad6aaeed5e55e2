/* Names of checkpoint files. */
#ifndef FS_CHECKPOINTS_H
#define FS_CHECKPOINTS_H

#include "agent/base/base.h"

/* The id in STEP-ID.json; false if the name has another form. Pure. */
bool checkpoint_id(const char *name, char out[40]);

#endif
