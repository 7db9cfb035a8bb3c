//go:build node

package lab_test

import (
	"testing"

	"github.com/podstep/podstep/agent/lab/labtest"
)

func TestPartsWorkApart(t *testing.T) {
	l := labtest.Start(t)
	partsWorkApart(t, l)
	cleanerStaysInside(t, l)
}
