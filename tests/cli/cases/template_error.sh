# SPDX-License-Identifier: Apache-2.0
# A template with a typing error: FILE:LINE and the remedy, exit 2.
t simtune templates $DATA/typing_error.cu
t simtune tune $DATA/typing_error.cu
t simtune emit $DATA/typing_error.cu
t simtune templates missing.cu
echo "int x;" >empty.cu
t simtune templates ./empty.cu
