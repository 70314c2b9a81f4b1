"""Figures printed in the papers, and golden numbers of other implementations, for the tests beside this file.

TR: Kalibera and Jones, Technical Report 4-12.  ISMM: the same authors, ISMM 2013.  LCP: Li, Chen and Peng.
"""

from __future__ import annotations

# TR, table "Example Data (Three-level)": (binary, execution, measurement).
THREE_LEVEL = [[[9, 5], [8, 3]], [[10, 6], [7, 11]], [[1, 12], [2, 4]]]

# The same transformed to two levels: four measurements of each binary.
TWO_LEVEL = [[9, 5, 8, 3], [10, 6, 7, 11], [1, 12, 2, 4]]

# TR, table "Example Raw Data": old and new system.
OLD = [[[9, 11], [5, 6]], [[16, 13], [12, 8]], [[15, 7], [10, 14]]]
NEW = [[[10, 12], [6, 7]], [[9, 1], [11, 4]], [[8, 5], [3, 2]]]

# Data Q of libkalibera's own test, with REML estimates of statsmodels: variances 0.726665, 0.262779, 0.774736.
KALIBERA = [[[3, 4, 3], [1.2, 3.1, 3]], [[0.2, 1, 1.5], [1, 2, 3]]]

# Three binaries of three measurements whose bootstrap variances are known in closed form.
BOOTSTRAP = [[2.5, 3.1, 2.7], [5.1, 1.1, 2.3], [4.7, 5.5, 7.1]]

# ISMM table 5: c1 [s], c2 [s], t1 [%], t2 [%], r1.
ISMM_TABLE_5 = {
    "bloat6": (35.5, 110.0, 14.0, 2.7, 10),
    "lusearch9": (1.7, 12.3, 3.4, 30.3, 1),
    "xalan6": (10.8, 24.6, 7.2, 8.9, 2),
    "xalan9": (6.7, 71.8, 3.5, 0.8, 15),
}

# TR table 8.2, relative variation in percent: compilation S, execution S, measurement S, execution T where printed.
TR_VARIATION = {
    "FFT NA OPT": (3.4, 8.2, 1.4, None),
    "FFT NA": (3.4, 7.8, 1.4, None),
    "FFT OPT": (4.4, 8.2, 4.3, None),
    "FFT": (4.1, 6.7, 4.6, None),
    "HTTP OPT": (0.2, 0.8, 22.5, 0.0),
    "HTTP": (0.2, 0.7, 21.5, 0.0),
    "Rijndael OPT": (0.4, 3.8, 9.3, 3.5),
    "Rijndael": (0.4, 3.5, 9.1, 3.2),
    "TCP OPT": (0.6, 1.7, 41.8, 0.0),
    "TCP": (0.6, 1.8, 38.6, 0.0),
}

# TR table "Result Precision": half-widths in percent at 3, 6 and 9 hours, with the method's levels and with one level.
TR_PRECISION = {
    "FFT NA OPT": ((3.3, 2.0, 1.5), (7.5, 4.6, 3.6)),
    "FFT NA": ((3.2, 1.9, 1.5), (7.1, 4.4, 3.4)),
    "FFT OPT": ((4.3, 2.5, 2.0), (8.6, 5.3, 4.1)),
    "FFT": ((3.6, 2.3, 1.8), (7.6, 4.7, 3.7)),
    "HTTP OPT": ((0.5, 0.3, 0.3), (18.8, 11.5, 9.1)),
    "HTTP": ((0.4, 0.3, 0.2), (18.0, 11.1, 8.7)),
    "Rijndael OPT": ((1.3, 0.2, 0.1), (8.3, 5.1, 4.0)),
    "Rijndael": ((0.6, 0.2, 0.2), (8.1, 5.0, 3.9)),
    "TCP OPT": ((1.3, 0.8, 0.6), (34.9, 21.5, 16.9)),
    "TCP": ((1.3, 0.8, 0.6), (32.2, 19.8, 15.5)),
}

# TR 8.1: duration of an execution [s], measurements in it; the first 30 % are warm-up.
TR_EXECUTION = {"FFT": (15.0, 64), "HTTP": (4.0, 512), "Rijndael": (6.0, 64), "TCP": (0.102, 256)}
TR_BUILD_S = 1200.0
