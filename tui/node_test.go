//go:build node

package tui_test

import (
	"github.com/podstep/podstep/agent/lab/labtest"
	"github.com/podstep/podstep/docs/tours"
)

// What these tests run on: containerd and runc, and a kubelet that may not stand
// still as a whole.
const runtime = tours.Containerd

var launch, start = labtest.Launch, labtest.Start
