// SPDX-License-Identifier: Apache-2.0
// Writes the store that the tests of the command line ask: make_store STORE SCALE.cu
#include "tests/unit/reports/session_fixture.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/template.h"

#include <stdlib.h>

static st_error error;

static void need(st_code code, const char *what)
{
    if (code == ST_OK)
        return;
    fprintf(stderr, "make_store: %s: %s\n", what, error.what);
    exit(1);
}

// As a run stores them: {"scale.cu": text, "scale_device.cuh": text}.
static char *texts_of(const st_template *tmpl)
{
    st_includes includes;
    st_text out;
    st_text_init(&out);
    need(st_template_includes(tmpl, &includes, &error), "includes");
    json_t *files = json_object();
    json_object_set_new(files, "scale.cu", json_string(tmpl->text));
    for (size_t i = 0; i < includes.count; i++)
        json_object_set_new(files, includes.items[i].name, json_string(includes.items[i].text));
    st_json_print(files, &out);
    json_decref(files);
    st_includes_release(&includes);
    return st_text_take(&out);
}

int main(int argc, char **argv)
{
    st_json_setup();
    if (argc != 3) {
        fprintf(stderr, "make_store: STORE SCALE.cu\n");
        return 2;
    }
    st_store *store = NULL;
    st_template *tmpl = NULL;
    fixture_session session;
    need(st_template_load(argv[2], &tmpl, &error), "template");
    char *texts = texts_of(tmpl);
    need(st_store_open(argv[1], ST_STORE_WRITE, &store, &error), "store");
    need(fixture_reduce(store, &session, &error), "reduce");
    need(fixture_scale(store, tmpl->hash, texts, &session, &error), "scale");
    st_store_close(store);
    st_free(texts);
    st_template_free(tmpl);
    return 0;
}
