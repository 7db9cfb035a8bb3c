//go:build node

package lab_test

import (
	"testing"

	"github.com/podstep/podstep/agent/labtest"
)

func TestPartsWorkApart(t *testing.T) {
	l := labtest.Start(t)
	partsWorkApart(t, l)
	cleanerStaysInside(t, l)
}
