package attach

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/probes/clock"
)

// TestLeaseEnds: a lease is good for its duration from its last renewal on. One that was never renewed says nothing.
func TestLeaseEnds(t *testing.T) {
	now := time.Now()
	renewed, seconds := metav1.NewMicroTime(now.Add(-15*time.Second)), int32(40)
	for _, x := range []struct {
		name string
		spec coordinationv1.LeaseSpec
		left time.Duration
	}{
		{"renewed", coordinationv1.LeaseSpec{RenewTime: &renewed, LeaseDurationSeconds: &seconds}, 25 * time.Second},
		{"never renewed", coordinationv1.LeaseSpec{LeaseDurationSeconds: &seconds}, 0},
		{"for ever", coordinationv1.LeaseSpec{RenewTime: &renewed}, 0},
	} {
		good, err := leaseEnds(&coordinationv1.Lease{Spec: x.spec}, now)
		if x.left == 0 {
			if err == nil {
				t.Errorf("%s: it ends at %v", x.name, good)
			}
			continue
		}
		if left := good.Sub(clock.Of(now)); err != nil || left != x.left {
			t.Errorf("%s: %v are left, not %v (%v)", x.name, left, x.left, err)
		}
	}
}
