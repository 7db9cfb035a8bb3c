package kubeport

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWithin(t *testing.T) {
	r := newRoot(t)
	r.write("a/b/file", "the file")
	r.link("absolute", "/a/b")
	r.link("a/up", "../../../../a/b/file")
	r.link("chain", "absolute/../b/./file")
	r.link("loop", "loop")
	// None leads out of the root.
	for _, path := range []string{"/a/b/file", "a/b/file", "/absolute/file", "/a/up", "/chain", "/../../a/up"} {
		f, err := openWithin(r.dir, path)
		if err != nil {
			t.Error(err)
			continue
		}
		if text, err := io.ReadAll(f); err != nil || string(text) != "the file" {
			t.Errorf("%s has %q, %v", path, text, err)
		}
		_ = f.Close()
	}
	for _, bad := range []string{"/missing", "/loop", "/a/b/file/x", "/a"} {
		if f, err := openWithin(r.dir, bad); err == nil {
			t.Errorf("%s is %s", bad, f.Name())
		}
	}
}

// TestWithinSwapped: a file that becomes a link while it is opened does not lead to podstep's own file of that name.
func TestWithinSwapped(t *testing.T) {
	r := newRoot(t)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	stop, swapped := make(chan struct{}), make(chan error, 1)
	go func() {
		file, next := filepath.Join(r.dir, "f"), filepath.Join(r.dir, "next")
		for i := 0; ; i++ {
			select {
			case <-stop:
				swapped <- nil
				return
			default:
			}
			var err error
			if i%2 == 0 {
				err = os.WriteFile(next, []byte("its"), 0o600)
			} else {
				err = os.Symlink(outside, next)
			}
			if err == nil {
				err = os.Rename(next, file)
			}
			if err != nil {
				swapped <- err
				return
			}
		}
	}()
	k := Kubeconfig{Root: r.dir}
	for range 5000 {
		if text, err := k.read("/f"); err == nil && string(text) != "its" {
			t.Errorf("read is %q", text)
			break
		}
	}
	close(stop)
	if err := <-swapped; err != nil {
		t.Error(err)
	}
}

// FuzzWithin: whatever links there are, nothing leads out.
func FuzzWithin(f *testing.F) {
	f.Add("a/../..", "/etc", "link/x")
	f.Add("d", "../../..", "link")
	f.Add("d", "/etc/passwd", "link")
	f.Fuzz(func(t *testing.T, dir, target, path string) {
		root := filepath.Join(t.TempDir(), "root")
		if err := os.MkdirAll(filepath.Join(root, filepath.Clean("/"+dir)), 0o755); err != nil {
			return
		}
		if err := os.Symlink(target, filepath.Join(root, "link")); err != nil {
			return
		}
		got, err := openWithin(root, path)
		if err != nil {
			return
		}
		defer got.Close()
		real, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", got.Fd()))
		if err != nil || !strings.HasPrefix(real, root+"/") {
			t.Errorf("%q with a link to %q is %s, %v", path, target, real, err)
		}
	})
}
