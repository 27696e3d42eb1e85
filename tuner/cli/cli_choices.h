// SPDX-License-Identifier: Apache-2.0
// What emit, lock and verify share: the families, types, archs and devices that a command names, and the winners
// that the store has for them.
#ifndef SIMTUNE_CLI_CHOICES_H
#define SIMTUNE_CLI_CHOICES_H

#include "tuner/cli/cli_answers.h"
#include "tuner/publish.h"

typedef struct st_cli_wanted {
    st_publish publish;       // all but cc
    st_cli_filter filter;
    st_list words;            // of --type
    const char **types;
} st_cli_wanted;
// Reads --type, --arch, --device, --session, --warm and --allow-emulated. The struct must not be moved after.
st_code st_cli_wanted_read(st_cli *cli, st_cli_wanted *out, st_error *error);
void st_cli_wanted_release(st_cli_wanted *wanted);

typedef struct st_family_choices {
    st_template *tmpl;
    st_choice *choices;
    size_t count;
} st_family_choices;
// The newest winners of a family (a name or a FILE.cu) for all that is wanted; a note on stderr for those left out.
// ST_NOTHING when an arch or a type that was asked for has none.
st_code st_cli_choices(st_cli *cli, st_store *store, const char *family, st_cli_wanted *wanted,
                       st_family_choices *out, st_error *error);
// Only the archs and types that are wanted, of choices that came from elsewhere (a lock). ST_NOTHING as above.
st_code st_cli_choices_keep(st_family_choices *family, const st_cli_wanted *wanted, const char *where,
                            st_error *error);
bool st_choices_all_shipped(const st_family_choices *family);
void st_family_choices_release(st_family_choices *family);

#endif
