package causes

import (
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes"
)

// TestMinorTable: the table has each function that a cause cites, no other, and nothing else than what was read in the version in
// which it was read.
func TestMinorTable(t *testing.T) {
	cited := map[Citation]bool{}
	for _, c := range All() {
		for _, of := range c.Cited() {
			if of.Name == "" {
				continue
			}
			cited[of] = true
			if is := of.In(probes.KubernetesVersion); is != Same {
				t.Errorf("%s cites %s of %s, which is %q in the table: run go test ./stuck -run TestMinors -update, in lab", c.ID, of.Name, of.File, is)
			}
		}
	}
	for of, all := range minors().of {
		if !cited[of] || strings.Trim(all, "=!-") != "" {
			t.Errorf("%s of %s is %q in the table, and cited: %v", of.Name, of.File, all, cited[of])
		}
	}
}

// TestCitedParts: calls of the CRI, fields and details are no functions of the source.
func TestCitedParts(t *testing.T) {
	for where, want := range map[string][]Citation{
		"CRI PullImage; pkg/kubelet/images/puller.go":                       {{"pkg/kubelet/images/puller.go", ""}},
		"a.go: f, (*T).g (h); pkg/kubelet/pleg: r":                          {{"a.go", "f"}, {"a.go", "(*T).g"}, {"pkg/kubelet/pleg", "r"}},
		"VolumeAttachment {a}: status.attached false, no attachError":       nil,
		"k8s.io/apiserver/pkg/endpoints/filters: WithAuthorization (allow)": {{"k8s.io/apiserver/pkg/endpoints/filters", "WithAuthorization"}},
	} {
		if got := (&Cause{Where: where}).Cited(); !slices.Equal(got, want) {
			t.Errorf("%s: %v", where, got)
		}
	}
}

// TestRanges: minor versions that follow each other are a range. The one that was read is in it, and not at its end.
func TestRanges(t *testing.T) {
	versions := []string{"v1.33.13", "v1.34.4", "v1.35.4", probes.KubernetesVersion, "v1.97.1", "v1.98.0"}
	for all, want := range map[string][3]string{
		"======": {"v1.33 to v1.98", "", ""},
		"!!!=!!": {"", "v1.33 to v1.35, v1.97 and v1.98", ""},
		"--!===": {"v1.97 and v1.98", "v1.35", "v1.33 and v1.34"},
		"-!==!=": {"v1.35 and v1.98", "v1.34 and v1.97", "v1.33"},
		"!===-=": {"v1.34, v1.35 and v1.98", "v1.33", "v1.97"},
	} {
		for i, is := range []Likeness{Same, Different, Absent} {
			if got := ranges(versions, all, is); got != want[i] {
				t.Errorf("%s: %q in %q, not %q", all, is, got, want[i])
			}
		}
	}
}
