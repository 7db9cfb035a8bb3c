package labtest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// updateTried is the variable that makes Tried write, if it is not empty.
const updateTried = "PODSTEP_UPDATE_TRIED"

// Tried is called by a test in which podstep has shown pods come and go in one way, such as "uprobe", beside the lab's
// kubelet. docs/versions.md shows what was tried with which kubelet; with PODSTEP_UPDATE_TRIED=1 Tried writes that down, and
// otherwise it checks that it is written.
func (l *Lab) Tried(way string) {
	l.tb.Helper()
	if l.tb.Failed() {
		return
	}
	file := triedFile(l.tb)
	text, err := os.ReadFile(file)
	if err != nil {
		l.tb.Fatal(err)
	}
	version := l.KubeletVersion()
	line := fmt.Sprintf("%s\t%s\t%s", version[:strings.LastIndex(version, ".")], way, version)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if slices.Contains(lines, line) {
		return
	}
	if os.Getenv(updateTried) == "" {
		l.tb.Errorf("%s has no line %q: run this test with %s=1, then go run ./cmd/gen versions", file, line, updateTried)
		return
	}
	lines = append(lines, line)
	slices.Sort(lines)
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		l.tb.Fatal(err)
	}
}

// KubeletVersion returns the version of the lab's kubelet, as its node reports it.
func (l *Lab) KubeletVersion() string {
	l.tb.Helper()
	node, err := l.Client.CoreV1().Nodes().Get(l.Context(), l.State.Node, metav1.GetOptions{})
	if err != nil {
		l.tb.Fatal(err)
	}
	return node.Status.NodeInfo.KubeletVersion
}

// triedFile returns the file beside this one.
func triedFile(tb testing.TB) string {
	tb.Helper()
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		tb.Fatal("this test was built without the paths of its sources")
	}
	return filepath.Join(filepath.Dir(here), "tried.tsv")
}
