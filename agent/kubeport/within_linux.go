package kubeport

import (
	"os"

	"github.com/podstep/podstep/probes/kubelets"
)

// openWithin opens the file to which a path leads for a process with another root directory. If podstep opened root
// joined with path, the kernel would follow a link with an absolute target, such as the kubelet's
// kubelet-client-current.pem, below podstep's own root. And a path that podstep resolved itself may lead elsewhere
// when it is opened.
func openWithin(root, path string) (*os.File, error) {
	k := kubelets.Kubelet{Root: root}
	return k.Open(path)
}
