# SPDX-License-Identifier: Apache-2.0
# A file in templates/ is a command, in help, manual, completions and lists too; support code is none.
sed 's/family   scale/family   blur/; s/y = 3 x/a family that was added/' $DATA/scale.cu >$SHARE/templates/blur.cu
cp $DATA/scale_device.cuh $SHARE/templates/
echo "int support;" >$SHARE/templates/helper.cu
t simtune blur --dry-run --device emu
simtune blur --help | head -1
simtune help blur | head -1
simtune templates | grep -E '^(blur|reduce|helper)'
simtune help | grep -A 1 '^Families'
simtune help --man | grep -A 3 '^.SH FAMILIES'
simtune help --bash | grep -E 'families=|tune\|'
t simtune blurr
t simtune helper
t simtune help helper
t simtune query blur --db $SHARE/none.db
t simtune templates blurr
# A template with a mistake hides no other.
sed 's/axis/axsi/' $DATA/scale.cu >$SHARE/templates/aaa.cu
sed 's/param/parma/' $DATA/scale.cu >$SHARE/templates/zzz.cu
t simtune templates
t simtune aaa
# Without any template.
mkdir -p empty/templates
SIMTUNE_SHARE=$PWD/empty t simtune templates
SIMTUNE_SHARE=$PWD/empty t simtune reduc
