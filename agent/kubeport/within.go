package kubeport

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is how many symbolic links a path may have, as in the kernel.
const maxLinks = 40

// within finds the file that a process with another root directory means by an
// absolute path. The kernel would follow a link such as the kubelet's
// kubelet-client-current.pem, which names its target from the root on, to the
// target below our own root. The result has no links below root, and never leads
// out of it.
func within(root, path string) (string, error) {
	rest := strings.Split(filepath.Clean("/"+path), "/")
	done := "/"
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, name)
		info, err := os.Lstat(filepath.Join(root, next))
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("open %s: too many symbolic links", path)
		}
		target, err := os.Readlink(filepath.Join(root, next))
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			done = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return filepath.Join(root, done), nil
}
