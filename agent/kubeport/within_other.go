//go:build !linux

package kubeport

import (
	"os"
	"strings"
)

// openWithin opens a file below a directory. Only on Linux can that be the root of a kubelet.
func openWithin(root, path string) (*os.File, error) {
	return os.OpenInRoot(root, strings.TrimLeft(path, "/"))
}
