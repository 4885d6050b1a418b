/* attach.h - the command `berth attach`: a terminal beside running work.
 *
 * Not pure: network, the terminal, signals; one more thread, which reads what is typed. The terminal
 * is given back as it was found however the command ends.
 */
#pragma once

extern const struct command attach_command;
