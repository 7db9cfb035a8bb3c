//go:build node

package main

import (
	"os"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
)

// These tests run the real kubelet on a real node: they need root, containerd,
// runc, CNI plugins and busybox, and the built programs in PODSTEP_BIN.

// shared is a node for all tests that leave it as they found it.
var shared = labtest.NewShared(labtest.Launch)

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }
