# sandagentfs. Targets: all check asan tsan valgrind lint format install clean (README.md, "How it is built").
# BUILD=dir builds elsewhere; CI=1 makes warnings errors.
BUILD  ?= build
PREFIX ?= /usr/local
CC     ?= cc
VERSION := 0.1.0

# msgpack-c calls itself msgpack before release 6.
PKGS_AGENT := libcurl libcjson sqlite3 zlib $(if $(shell pkg-config --exists msgpack && echo yes),msgpack,msgpack-c)
PKGS_FS    := fuse3
PKGS_BOX   := libmicrohttpd libcjson
have = $(shell pkg-config --exists $(1) && echo yes)
$(foreach p,$(PKGS_AGENT) $(PKGS_FS) $(PKGS_BOX),$(if $(call have,$(p)),,$(error $(p) is missing: run ./scripts/install-deps)))

WARN  := -Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Wwrite-strings -Wimplicit-fallthrough \
         -Wmissing-prototypes -Wformat=2 $(if $(CI),-Werror)
OPT   ?= -O2 -g -fstack-protector-strong -D_FORTIFY_SOURCE=2
CFLAGS_ALL = -std=c11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DSAF_VERSION='"$(VERSION)"' -I. -pthread -MMD -MP \
         $(WARN) $(OPT) $(SANITIZE) $(CFLAGS)
CFLAGS_PKG := $(shell pkg-config --cflags $(PKGS_AGENT) $(PKGS_FS) $(PKGS_BOX))
LIBS_AGENT := $(shell pkg-config --libs $(PKGS_AGENT)) -lm
LIBS_FS    := $(shell pkg-config --libs $(PKGS_FS))
LIBS_BOX   := $(shell pkg-config --libs $(PKGS_BOX)) -lm

obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
SRC_BASE  := $(wildcard agent/base/*.c)
SRC_AGENT := $(filter-out agent/box/%,$(wildcard agent/*/*.c))
SRC_BOX   := $(filter-out agent/box/main.c,$(wildcard agent/box/*.c))
SRC_FS    := $(filter-out fs/main.c,$(wildcard fs/*.c))
SRC_ALL   := $(wildcard fs/*.c agent/*/*.c tests/*/*.c tests/*/*/*.c)

# A test of agent/ links without libfuse and one of agent/box/ without the rest of agent/: a layer breach fails to link.
TEST_BOX   := $(wildcard tests/agent/box/*_test.c)
TEST_AGENT := $(filter-out $(TEST_BOX),$(wildcard tests/agent/*/*_test.c))
TEST_FS    := $(wildcard tests/fs/*_test.c)
test = $(patsubst %.c,$(BUILD)/%,$(1))
TESTS := $(call test,$(TEST_AGENT) $(TEST_BOX) $(TEST_FS))

.PHONY: all print-libs check asan tsan valgrind lint format install clean tests
all: $(BUILD)/sandagentfs $(BUILD)/sandagentfs-box
tests: $(TESTS)
# For programs that are built beside this file (tests/conformance, tests/fuzz).
print-libs:
	@echo $(LIBS_AGENT)

$(BUILD)/libagent.a: $(call obj,$(SRC_AGENT))
$(BUILD)/libfs.a: $(call obj,$(SRC_FS))
$(BUILD)/libbox.a: $(call obj,$(SRC_BOX) $(SRC_BASE))
$(BUILD)/%.a:
	@mkdir -p $(@D); rm -f $@
	$(AR) rcs $@ $^
$(BUILD)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(CFLAGS_PKG) -c -o $@ $<

# Objects before archives: a fake beside a test stands in for the archive's member.
link = $(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^)
$(BUILD)/sandagentfs: $(call obj,fs/main.c) $(BUILD)/libfs.a $(BUILD)/libagent.a
	$(link) $(LIBS_FS) $(LIBS_AGENT)
$(BUILD)/sandagentfs-box: $(call obj,agent/box/main.c) $(BUILD)/libbox.a
	$(link) $(LIBS_BOX)
$(call test,$(TEST_AGENT)): $(BUILD)/%: $(BUILD)/obj/%.o $(BUILD)/libagent.a
	@mkdir -p $(@D)
	$(link) -lcmocka $(LIBS_AGENT)
$(call test,$(wildcard tests/agent/mirror/*_test.c)): $(call obj,$(wildcard tests/agent/mirror/fake_*.c))
$(call test,$(TEST_BOX)): $(BUILD)/%: $(BUILD)/obj/%.o $(BUILD)/libbox.a
	@mkdir -p $(@D)
	$(link) -lcmocka $(LIBS_BOX)
$(call test,$(TEST_FS)): $(BUILD)/%: $(BUILD)/obj/%.o $(BUILD)/libfs.a $(BUILD)/libagent.a
	@mkdir -p $(@D)
	$(link) -lcmocka $(LIBS_FS) $(LIBS_AGENT)

# Unit tests alone, in this build's flavour; scripts/check is the whole.
check: $(TESTS) all
	@set -e; for t in $(TESTS); do echo "-- $$t"; timeout 120 $(RUNNER) $$t; done
asan:
	$(MAKE) BUILD=$(BUILD)-asan OPT="-O1 -g -fno-omit-frame-pointer -DSAF_DEBUG" SANITIZE="-fsanitize=address,undefined -fno-sanitize-recover=undefined" check
tsan:
	$(MAKE) BUILD=$(BUILD)-tsan OPT="-O1 -g -DSAF_DEBUG" SANITIZE="-fsanitize=thread" check
valgrind:
	$(MAKE) BUILD=$(BUILD)-valgrind OPT="-O1 -g" RUNNER="valgrind -q --error-exitcode=9 --leak-check=full" check
lint:
	clang-format --dry-run -Werror $(SRC_ALL) $(wildcard fs/*.h agent/*/*.h)
	clang-tidy --quiet --warnings-as-errors='*' $(wildcard fs/*.c agent/*/*.c) -- -std=c11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DSAF_VERSION='"0"' -I. $(CFLAGS_PKG)
format:
	clang-format -i $(SRC_ALL) $(wildcard fs/*.h agent/*/*.h)

install: all
	install -D -m 755 $(BUILD)/sandagentfs $(DESTDIR)$(PREFIX)/bin/sandagentfs
	install -D -m 755 $(BUILD)/sandagentfs-box $(DESTDIR)$(PREFIX)/bin/sandagentfs-box
	install -D -m 644 fs/sandagentfs.1 $(DESTDIR)$(PREFIX)/share/man/man1/sandagentfs.1
clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan $(BUILD)-valgrind

-include $(shell [ -d $(BUILD) ] && find $(BUILD) -name '*.d')
