//go:build sim

package lab_test

import (
	"testing"

	"github.com/podstep/podstep/agent/labtest"
)

func TestSimPartsWorkApart(t *testing.T) {
	t.Parallel() // its node mostly waits
	l := labtest.StartSim(t)
	partsWorkApart(t, l)
	cleanerStaysInside(t, l)
}
