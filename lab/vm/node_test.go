//go:build vm

package vm_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	toolswatch "k8s.io/client-go/tools/watch"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/lab"
)

// nodeName is the machine's hostname, by which its kubelet registers.
const nodeName = "debian"

// agentSocket is podstep's default for root.
const agentSocket = "/run/podstep/agent.sock"

// node is a machine whose kubelet has joined the lab's API server.
type node struct {
	*machine
	*labtest.Lab // its Agent is the socket of the podstep in the machine
}

// join boots a machine and makes a node of it. It returns when the node is Ready.
func join(t *testing.T, kernelArgs ...string) *node {
	t.Helper()
	l := labtest.StartSim(t)
	m := boot(t, secondDisk(t, l.State.Kubeconfig), kernelArgs...)
	n := &node{m, l.WithAgent(m.forward(agentSocket))}
	n.State.Node = nodeName
	n.Dir = "" // its logs are those of another kubelet
	begin := time.Now()
	// With SELinux, files get the labels that their packages would give them.
	m.must(`mount -o ro /dev/vdb /mnt
		cp -r /mnt/node/. /
		! selinuxenabled || restorecon -R /etc /usr/bin /usr/local /var/lib/kubelet
		systemctl daemon-reload
		systemctl start containerd
		ctr -n k8s.io images import /mnt/images.tar
		ctr -n k8s.io images import /mnt/podstep.tar
		dpkg --install /mnt/podstep.deb
		systemctl start kubelet`)

	if err := n.untilNodeReady(); err != nil {
		t.Fatalf("%v\n%s", err, n.unitsSince("0"))
	}
	t.Logf("Ready %v after it was booted", time.Since(begin).Round(time.Second))
	return n
}

// secondDisk makes a disk with the files of a node: the kubelet, podstep's package, their configuration, and images.
func secondDisk(t *testing.T, kubeconfig string) string {
	t.Helper()
	arch, dir := machineArch(t), t.TempDir()
	tree, disk := filepath.Join(dir, "tree"), filepath.Join(dir, "disk.img")
	root := filepath.Join(tree, "node")
	if err := os.CopyFS(root, os.DirFS("node")); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{
		arch.program(t, "kubelet"): "usr/bin/kubelet",
		arch.debFile(t):            "../podstep.deb",
	} {
		copyFile(t, from, filepath.Join(root, to))
	}
	joinConfig(t, kubeconfig, filepath.Join(root, "etc/kubernetes"))
	applets, err := os.ReadFile(made(t, "applets"))
	if err != nil {
		t.Fatal(err)
	}
	busybox := lab.Busybox{Program: made(t, "busybox"), Arch: arch.name, Applets: strings.Fields(string(applets))}
	if err := busybox.WriteImages(filepath.Join(tree, "images.tar")); err != nil {
		t.Fatal(err)
	}
	labtest.WritePodstepImage(t, arch.program(t, "podstep"), arch.name, filepath.Join(tree, "podstep.tar"))
	if out, err := exec.Command("mke2fs", "-q", "-t", "ext4", "-d", tree, disk, "512M").CombinedOutput(); err != nil {
		t.Fatalf("mke2fs: %v: %s", err, out)
	}
	return disk
}

// debFile returns the package that make deb made.
func (a arch) debFile(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(a.program(t, "deb"), "*.deb"))
	if err != nil || len(files) != 1 {
		t.Fatalf("there are the packages %v, want one: make deb makes it: %v", files, err)
	}
	return files[0]
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, info.Mode()); err != nil {
		t.Fatal(err)
	}
}

// joinConfig writes a configuration with which the kubelet requests its certificate from the API server, as with
// kubeadm join. QEMU gives our loopback to the machine as another host. The API server's certificate has the name of
// that host.
func joinConfig(t *testing.T, kubeconfig, dir string) {
	t.Helper()
	c, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	cluster := c.Clusters[c.Contexts[c.CurrentContext].Cluster]
	cluster.Server = strings.Replace(cluster.Server, "127.0.0.1", "kubernetes", 1)
	if err := clientcmd.WriteToFile(*c, filepath.Join(dir, "bootstrap-kubelet.conf")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pki", "manifests"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "pki/ca.crt"), cluster.CertificateAuthorityData, 0o644); err != nil {
		t.Fatal(err)
	}
}

// For returns the node for a subtest. If the subtest fails, its end shows the output of the units.
func (n *node) For(t *testing.T) *node {
	m := *n.machine
	m.tb = t
	c := &node{&m, n.Lab.For(t)}
	begin := n.must("date +%s")
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(n.unitsSince(begin))
		}
	})
	return c
}

// unitsSince returns the output of the units since a second.
func (n *node) unitsSince(second string) string {
	out, err := n.run("for of in -k '-u podstep' '-u containerd' '-u kubelet'; do journalctl --no-pager -q -n 40 --since @" + second + " $of; done")
	return fmt.Sprintf("what the units printed: %v\n%s", err, out)
}

// untilNodeReady waits until the node has registered and is Ready.
func (n *node) untilNodeReady() error {
	lw := cache.NewListWatchFromClient(n.Client.CoreV1().RESTClient(), "nodes", "", fields.OneTermEqualSelector("metadata.name", nodeName))
	_, err := toolswatch.UntilWithSync(n.Context(), lw, &corev1.Node{}, nil, func(e watch.Event) (bool, error) {
		o, ok := e.Object.(*corev1.Node)
		return ok && slices.ContainsFunc(o.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}), nil
	})
	if err != nil {
		return fmt.Errorf("node %s is not Ready: %w", nodeName, err)
	}
	return nil
}
