#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that the checks of this folder find what they are there for: each is given a planted violation."""
import pathlib
import shutil
import tempfile
import unittest

import check_headers
import check_includes
import check_spdx

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"


class Tree(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


class Includes(Tree):
    def verdict(self, path, line):
        self.write(path, SPDX + line + "\n")
        found = check_includes.check(self.root)
        (self.root / path).unlink()
        return found

    def test_allowed(self):
        for path, line in [("tuner/base/a.c", '#include "tuner/base/text.h"'),
                           ("db/a.c", '#include "tuner/base/text.h"'),
                           ("db/a.c", "#include <sqlite3.h>"),
                           ("db/a.c", '#include "db/store_internal.h"'),
                           ("db/store_internal.h", "#include <sqlite3.h>"),
                           ("db/store_internal.h", "sqlite3 *db;"),
                           ("tuner/space_query.c", "#include <sqlite3.h>"),
                           ("db/store.h", "// a file of sqlite3, see docs"),
                           ("tuner/cli/a.c", 'puts("sqlite3 -readonly FILE");'),
                           ("tuner/worker/a.c", '#include "cupti/profiler.h"'),
                           ("tuner/a.c", '#include "tuner/worker/messages.h"'),
                           ("tuner/a.c", '#include "cupti/counters.h"'),
                           ("reports/a.c", '#include "cupti/counters.h"'),
                           ("tuner/cli/main.c", '#include "reports/report.h"'),
                           ("tests/unit/gpu/test_a.c", '#include "tuner/gpu/a_internal.h"'),
                           ("tuner/base/a.c", "#include <stdio.h>")]:
            self.assertEqual(self.verdict(path, line), [], (path, line))

    def test_helper_beside_a_test(self):
        self.write("tests/unit/db/fixture.h", SPDX)
        self.assertEqual(self.verdict("tests/unit/db/test_a.c", '#include "fixture.h"'), [])
        self.assertEqual(len(self.verdict("tests/unit/db/test_a.c", '#include "other.h"')), 1)

    def test_forbidden(self):
        for path, line in [("tuner/base/a.c", '#include "db/store.h"'),
                           ("tuner/base/a.h", '#  include "tuner/gpu/gpu.h"'),
                           ("db/a.c", '#include "cupti/counters.h"'),
                           ("cupti/a.c", '#include "tuner/gpu/gpu.h"'),
                           ("tuner/gpu/a.c", '#include "tuner/worker/messages.h"'),
                           ("tuner/worker/a.c", '#include "db/store.h"'),
                           ("tuner/worker/a.c", '#include "tuner/space.h"'),
                           ("tuner/a.c", '#include "tuner/worker/worker.h"'),
                           ("tuner/a.c", '#include "cupti/profiler.h"'),
                           ("tuner/a.c", '#include "reports/report.h"'),
                           ("tuner/a.c", '#include "db/store_internal.h"'),
                           ("reports/a.c", '#include "tuner/space.h"'),
                           ("tuner/a.c", "#include <cuda.h>"),
                           ("tuner/gpu/a.c", "#include <cupti_result.h>"),
                           ("cupti/a.c", "#include <sqlite3.h>"),
                           ("tuner/a.c", "#include <sqlite3.h>"),
                           ("tuner/cli/a.c", "#include <sqlite3.h>"),
                           ("db/store.h", "#include <sqlite3.h>"),
                           ("db/store.h", "sqlite3 *st_store_handle(st_store *store);"),
                           ("reports/a.c", "int rc = sqlite3_step(statement); // \"no text\""),
                           ("db/a.c", '#include "store.h"'),
                           ("db/a.c", "#include <tuner/gpu/gpu.h>"),
                           ("tests/unit/db/test_a.c", '#include "tuner/space.h"')]:
            found = self.verdict(path, line)
            self.assertEqual(len(found), 1, (path, line))
            self.assertTrue(found[0].startswith(path + ":2: "), found)


class Headers(Tree):
    def test_header_that_needs_another(self):
        self.write("db/good.h", "#ifndef G\n#define G\n#include <stddef.h>\nsize_t f(void);\n#endif\n")
        self.write("db/bad.h", "#ifndef B\n#define B\nsize_t g(void);\n#endif\n")
        self.write("db/unguarded.h", "struct s { int a; };\n")
        found = check_headers.check(self.root, "cc")
        self.assertEqual([line.split(":")[0] for line in found], ["db/bad.h", "db/unguarded.h"])


class Licences(Tree):
    def test_missing_line(self):
        self.write("db/good.c", SPDX)
        self.write("dev", "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n")
        self.write("db/bad.c", "int a;\n")
        self.write("tests/late.py", "\n\n\n# SPDX-License-Identifier: Apache-2.0\n")
        self.write("tests/golden/header.h", "int b;\n")
        self.write("build/dev/made.c", "int c;\n")
        self.write(".local/notes.sh", "true\n")
        self.write(".ci/run", "true\n")
        found = check_spdx.check(self.root)
        self.assertEqual([line.split(":")[0] for line in found], [".ci/run", "db/bad.c", "tests/late.py"])


if __name__ == "__main__":
    unittest.main()
