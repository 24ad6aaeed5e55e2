/* Descriptors that a process got from whoever started it. */
#ifndef AGENT_BOX_DESCRIPTORS_H
#define AGENT_BOX_DESCRIPTORS_H

/* Closes all above 2 at the next exec, whatever they are. */
void descriptors_keep_private(void);

#endif
