# diskproof. `make demo` and `make test` do all the set-up on a fresh Debian machine, as root or with sudo.

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-page test-loop test-lab sanitize check build dist docs generate fmt install install-tools rust
SHELL := /bin/bash
PREFIX ?= /usr/local

help: ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: build ## run the main job for real and show its answer (needs root or sudo; without: in an existing directory)
	@scripts/demo.sh

test: ## all tests: the pure ones, reports in a browser, then as root the loop tier and the lab
	@scripts/setup.sh test
	@scripts/test.sh all

test-fast: ## only the tests that need no root, for every edit: 3 minutes when all is built
	@scripts/setup.sh rust
	@scripts/setup.sh cloud
	@scripts/test.sh pure

test-page: ## only the checks of reports in Chromium: a minute when all is built
	@scripts/setup.sh rust
	@scripts/setup.sh page
	@scripts/test.sh page

test-loop: ## only the tests that need root and loop devices
	@scripts/setup.sh test
	@scripts/test.sh loop

test-lab: ## only the tests with guests (needs root; builds the guest's image the first time, some minutes)
	@scripts/setup.sh test
	@scripts/test.sh lab

sanitize: ## the engine's tests under miri, AddressSanitizer and ThreadSanitizer (needs a nightly Rust; not part of make test)
	@scripts/sanitize.sh all

check: ## formatting, lints, dependency rules, generated files up to date
	@scripts/setup.sh rust
	@scripts/check.sh

build: ## the release binary: static, stripped, under 25 MB
	@scripts/setup.sh rust
	@scripts/build.sh

generate: ## write schema/, man/, completions/ and docs/cli.md anew
	@scripts/setup.sh rust
	@scripts/cargo.sh xtask generate

docs: build ## make the output and pictures of README, tutorial and docs/why-numbers-lie.md anew, from real runs (as root or with sudo; 8 minutes)
	@scripts/setup.sh tools
	@scripts/docs.sh

fmt: ## format the source
	@scripts/cargo.sh fmt --all

install: build ## copy binary, man pages and completions below PREFIX (/usr/local)
	@scripts/install.sh "$(DESTDIR)$(PREFIX)"

dist: build ## pack them: a tarball, a Debian package and checksums, in dist/
	@scripts/dist.sh

install-tools: ## only the programs that diskproof calls: fio, mkfs.*, losetup...
	@scripts/setup.sh tools

rust: ## get the Rust toolchain from rust-lang.org (into ~/.cargo), if there is none
	@scripts/setup.sh get-rust
