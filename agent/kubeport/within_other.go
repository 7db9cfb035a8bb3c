//go:build !linux

package kubeport

import (
	"os"
	"strings"
)

// openWithin opens a file below a directory. Only on Linux is there a kubelet whose
// root that could be.
func openWithin(root, path string) (*os.File, error) {
	return os.OpenInRoot(root, strings.TrimLeft(path, "/"))
}
