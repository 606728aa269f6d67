# The one-file probe, and the sources' digest, which is the same in both builds. GNU make.
KM_SOURCES := $(shell sh amalgamate.sh --list)
KM_DIGEST := $(shell sh amalgamate.sh --digest)

.PHONY: amalgam
amalgam: build/probe.c ## one C file, for: cc -O2 -o probe probe.c

build/probe.c: amalgamate.sh $(KM_SOURCES)
	@mkdir -p build
	sh amalgamate.sh >$@.new
	mv $@.new $@
