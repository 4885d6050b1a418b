/* units.h - the one measure of accelerator capacity.
 *
 * A whole device is UNITS_DEVICE units, whatever its model. A part costs half
 * its compute share plus half its memory share, rounded down: parts add up and
 * never exceed their device. 126,000 divides evenly by 7 and 8 slices (9,000
 * per compute slice and 7,875 per memory slice on a seven-slice card), by 4 and
 * 12, and by 1,000 (63 a thousandth of compute).
 */
#pragma once

#include <stdint.h>

#define UNITS_DEVICE 126000
#define UNITS_HALF   (UNITS_DEVICE / 2)
#define SHARE_WHOLE  1000               /* thousandths of a device's compute */

/* Units x milliseconds: sums of whole pools over years do not fit 64 bits. */
__extension__ typedef unsigned __int128 unit_ms;
