/*
 * The sandbox's Python environment, so that `pip install` works and persists:
 * a venv over the system's packages, on the PATH, with a pip of its own
 * (Debian's refuses to install). Made once per sandbox, in the background.
 */
#ifndef AGENT_BOX_VENV_H
#define AGENT_BOX_VENV_H

#include "agent/base/base.h"

#define VENV_DIR "/opt/venv"

/* Begins to make it if it is missing or of another Python. No python3: none. */
void venv_start(char *const *envp);
/* Returns when that has ended, well or not. [waits] */
void venv_wait(void);

#endif
