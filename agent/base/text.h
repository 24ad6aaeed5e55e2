/*
 * Making text that strangers sent fit for JSON, SQLite and terminals. Pure.
 */
#ifndef AGENT_BASE_TEXT_H
#define AGENT_BASE_TEXT_H

#include "agent/base/buf.h"

/* Appends `s` as valid UTF-8 without NUL: each maximal bad part (WHATWG
 * Encoding) and each NUL becomes U+FFFD. */
void text_add_utf8(struct buf *out, const char *s, size_t len);
/* The same, but UTF-8-encoded surrogate halves (ED A0..BF xx) that follow each
 * other are joined first: cJSON hands escaped halves through as such bytes. */
void text_add_joined(struct buf *out, const char *s, size_t len);
/*
 * Appends JSON text with its \u escapes made harmless for cJSON 1.7.15, which
 * cuts a string at \u0000 and at \u with non-hexadecimal digits, and rejects a
 * lone surrogate: those become \ufffd. keep_halves: a lone surrogate becomes
 * its three raw bytes instead, so that halves in two pieces can be joined by
 * text_add_joined().
 */
void text_scrub_json(struct buf *out, const char *s, size_t len,
    bool keep_halves);

#endif
