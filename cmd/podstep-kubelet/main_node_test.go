//go:build node

package main

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/podstep/podstep/agent/lab/labtest"
)

// These tests run the real kubelet on a real node: they need root, containerd,
// runc, CNI plugins and busybox, and the built programs in PODSTEP_BIN.

// shared is a node for all tests that leave it as they found it.
var shared = sync.OnceValues(func() (*labtest.Lab, error) {
	l, err := labtest.Launch()
	started = l
	return l, err
})

var started *labtest.Lab

// node is the node that tests share. It starts with the first test that asks
// for it and ends after the last test.
func node(t *testing.T) *labtest.Lab {
	t.Helper()
	l, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return l.For(t)
}

func TestMain(m *testing.M) {
	code := m.Run()
	if started != nil {
		if err := started.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
