/* certificate.h - certificates for tests, as PEM. A test fails where one cannot be made. */
#pragma once

struct test_certificate {
        char certificate[4096], key[4096];
};
/* Signed by `authority`, or by itself (and then it may sign others). For 127.0.0.1 and localhost,
 * and for clients; valid from a day ago, for `days`, which may be negative. */
void test_certificate_make(const char *name, const struct test_certificate *authority, int days,
                           struct test_certificate *ret_made);
