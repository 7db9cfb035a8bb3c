package kubeport

import (
	"os"

	"github.com/podstep/podstep/probes/kubelets"
)

// openWithin opens the file that a process with another root directory means by a
// path. By its name alone the kernel would follow a link such as the kubelet's
// kubelet-client-current.pem, which names its target from the root on, to the target
// below our own root; and a name that was resolved may lead elsewhere when it is
// opened.
func openWithin(root, path string) (*os.File, error) {
	k := kubelets.Kubelet{Root: root}
	return k.Open(path)
}
