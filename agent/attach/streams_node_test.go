//go:build node

package attach_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
)

// TestStreams: the CRI has streams that last as long as their connection, and lists that come in pieces. A kubelet
// that is configured to use them does so through podstep. It goes on when podstep comes and goes, and so does another
// client of such a stream.
func TestStreams(t *testing.T) {
	containerd := labtest.Bin(t, "containerd-2.4/containerd")
	for program, target := range map[string]string{containerd: "containerd2", labtest.Bin(t, "crictl"): "crictl"} {
		if _, err := os.Stat(program); err != nil {
			t.Skipf("%s is not built: run make %s", program, target)
		}
	}
	l := labtest.Start(t, "--kubelet", streaming(t), "--containerd", containerd, "--restart-kubelet", "--kubelet-v", "4")
	life(t, l, "before")
	awaitStreamed(t, l, 0)
	const refused = "falling back to" // the kubelet logs this for a runtime that does not know the call
	if bytes.Contains(logged(t, l, 0), []byte(refused)) {
		t.Fatal("the runtime has not the streams that are to be tested")
	}

	// The present stream stays on its connection: otherwise it would break.
	from := len(logged(t, l, 0))
	a := attach(t, l)
	name, args := crictl(t, l, "events")
	events := run(t, name, args...)
	walk(t, l)
	events.until("CONTAINER_STARTED_EVENT")
	events.until("CONTAINER_DELETED_EVENT")
	awaitStreamed(t, l, from)
	unbroken(t, l, from)

	// The stream of the next kubelet comes through podstep, and breaks once.
	l.KillPart("kubelet", syscall.SIGKILL)
	from = len(logged(t, l, 0))
	seen(t, l, "meanwhile")
	awaitStreamed(t, l, from)
	unbroken(t, l, from)
	took := a.End(syscall.SIGINT)
	a.left()
	events.end()
	from = len(logged(t, l, 0))
	life(t, l, "after")
	awaitStreamed(t, l, from)
	if text := logged(t, l, 0); bytes.Contains(text, []byte(refused)) || bytes.Contains(text, []byte("Fall back to Generic PLEG")) {
		t.Error("the kubelet uses the streams no more")
	}
	t.Logf("podstep ended in %v", took)
}

// awaitStreamed waits until the kubelet has logged a container's event of its stream, behind from in its log.
func awaitStreamed(t *testing.T, l *labtest.Lab, from int) {
	t.Helper()
	labtest.Eventually(t, "heard of: a container", func() bool {
		return bytes.Contains(logged(t, l, from), []byte("container event received"))
	})
}

// unbroken checks that no stream of the kubelet has broken.
func unbroken(t *testing.T, l *labtest.Lab, from int) {
	t.Helper()
	for _, text := range []string{"failed to receive streaming container event", "container events stream is closed", "recv failed"} {
		if bytes.Contains(logged(t, l, from), []byte(text)) {
			t.Errorf("the kubelet says: %s", text)
		}
	}
}

// streaming returns the path of a kubelet that uses the streams of the CRI.
func streaming(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubelet")
	script := fmt.Sprintf("#!/bin/sh\nexec %s \"$@\" --feature-gates=EventedPLEG=true,CRIListStreaming=true\n", labtest.Bin(t, "kubelet"))
	if err := os.WriteFile(file, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// logged returns the kubelet's log from an offset on.
func logged(t *testing.T, l *labtest.Lab, from int) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(l.Dir, "logs", "kubelet.log"))
	if err != nil {
		t.Fatal(err)
	}
	return text[from:]
}
