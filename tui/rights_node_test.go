//go:build node

package tui_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/podstep/podstep/agent/labtest"
)

// TestRightsOnNode: three people reach the agents of the DaemonSet through a real API server: one may do nothing, one may
// look, one may hold. Whatever is refused names the command that grants it, and that command does. A hold has the name of
// the person, and nothing has a token.
func TestRightsOnNode(t *testing.T) {
	l := start(t, "--kubelet", labtest.Bin(t, "kubelet"))
	c := &cluster{t: t, l: l}
	before, err := l.Socket()
	if err != nil {
		t.Fatal(err)
	}
	c.kubectl("apply", "-f", c.daemonSet(l.ImportPodstep()))
	c.kubectl("-n", "kube-system", "rollout", "status", "daemonset/podstep", "--timeout", "2m")
	for role, user := range map[string]string{"podstep-look": "lena", "podstep-hold": "hal"} {
		c.kubectl("create", "clusterrolebinding", "podstep-find-"+user, "--clusterrole=podstep-find", "--user="+user)
		c.kubectl("create", "rolebinding", role+"-"+user, "-n", "kube-system", "--role="+role, "--user="+user)
	}

	granted := c.refused("noel", "pods")
	if !strings.Contains(granted, "--clusterrole=podstep-find --user=noel") {
		t.Errorf("somebody without rights is to be granted %s", granted)
	}
	for _, user := range []string{"lena", "hal"} {
		if out := c.as(user, "pods"); !strings.Contains(out, "podstep-") {
			t.Errorf("%s sees these pods: %s", user, out)
		}
	}
	add := []string{"break", "add", "default/held", "--step", "cri.RunPodSandbox", "--lease", "5m", "--times", "1"}
	granted = c.refused("lena", add...)
	c.as("hal", add...)
	l.Create(labtest.BusyboxPod("held", labtest.Sleep))
	c.as("hal", "trace", "default/held", "--until", "held", "--for", "2m")
	text := c.as("lena", "holds", "-o", "json")
	if !json.Valid([]byte(text)) || !strings.Contains(text, "podstep-hold") || !strings.Contains(text, "hal") {
		t.Errorf("the holds are %s", text)
	}
	if again := c.refused("lena", "continue", "held"); again != granted {
		t.Errorf("to let go takes %s, to hold %s", again, granted)
	}
	c.kubectl(strings.Fields(granted)[1:]...)
	c.as("lena", "continue", "held")
	l.UntilReady("held")

	c.kubectl("-n", "kube-system", "delete", "daemonset/podstep", "--wait")
	c.kubectl("-n", "kube-system", "wait", "pod", "-l", "app.kubernetes.io/name=podstep", "--for=delete", "--timeout", "2m")
	labtest.Eventually(t, "the runtime's path is the runtime's", func() bool {
		now, err := l.Socket()
		return err == nil && now == before
	})
	if token := tokens.FindString(c.printed.String()); token != "" {
		t.Errorf("a token was printed: %.20s", token)
	}
}

// tokens matches the head of a token of a ServiceAccount.
var tokens = regexp.MustCompile(`eyJhbGci[A-Za-z0-9_-]{20,}`)

// cluster is a lab with the DaemonSet of podstep, and the people who use it.
type cluster struct {
	t       *testing.T
	l       *labtest.Lab
	printed strings.Builder
}

// daemonSet writes the manifest of docs/examples for this node: its pod holds, and shares no directory with other podsteps
// of the machine.
func (c *cluster) daemonSet(image string) (file string) {
	c.t.Helper()
	text, err := os.ReadFile("../docs/examples/attach/daemonset.yaml")
	if err != nil {
		c.t.Fatal(err)
	}
	port := labtest.FreePort(c.t)
	manifest := string(text)
	for _, r := range [][2]string{
		{"\n        - --record-dir=/var/lib/podstep/record\n        - --keep=1GiB\n        - --passive\n        - --read-only\n", fmt.Sprintf("\n        - --allow-holds\n        - --pid=%d\n", c.l.KubeletPID())},
		{"--metrics=127.0.0.1:9090", "--metrics=127.0.0.1:" + port},
		{"port: 9090", "port: " + port},
		{"{path: /run/podstep, type: DirectoryOrCreate}", fmt.Sprintf("{path: %s/run-podstep, type: DirectoryOrCreate}", c.l.Dir)},
		{`- {name: record, mountPath: "/var/lib/podstep/record"}`, "- {name: cgroup, mountPath: /sys/fs/cgroup}"},
		{"- name: record\n        hostPath: {path: \"/var/lib/podstep/record\", type: DirectoryOrCreate}", "- name: cgroup\n        hostPath: {path: /sys/fs/cgroup, type: Directory}"},
	} {
		if !strings.Contains(manifest, r[0]) {
			c.t.Fatalf("the manifest has no %q", r[0])
		}
		manifest = strings.ReplaceAll(manifest, r[0], r[1])
	}
	manifest = imageOf.ReplaceAllString(manifest, "image: "+image)
	file = filepath.Join(c.t.TempDir(), "daemonset.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return file
}

var imageOf = regexp.MustCompile(`image: .*podstep:.*`)

// kubectl runs the lab's kubectl as its administrator.
func (c *cluster) kubectl(args ...string) {
	c.t.Helper()
	if out, err := c.l.Kubectl(c.t.Context(), args...).CombinedOutput(); err != nil {
		c.t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// person returns the kubeconfig of a person.
func (c *cluster) person(name string) (file string) {
	c.t.Helper()
	config, err := clientcmd.LoadFromFile(c.l.State.Kubeconfig)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = name
	}
	file = filepath.Join(c.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		c.t.Fatal(err)
	}
	return file
}

func (c *cluster) run(user string, args ...string) (out, errs string, code int) {
	c.t.Helper()
	out, errs, code = c.l.Podstep(append(args, "--node", c.l.State.Node, "--kubeconfig", c.person(user))...)
	c.printed.WriteString(out + errs)
	return out, errs, code
}

// as runs a podstep command that a person may do, now or a moment after the right was granted.
func (c *cluster) as(user string, args ...string) (out string) {
	c.t.Helper()
	labtest.Eventually(c.t, user+" may: "+strings.Join(args, " "), func() bool {
		var errs string
		var code int
		if out, errs, code = c.run(user, args...); code != 0 && !grants.MatchString(errs) {
			c.t.Fatalf("%s, podstep %s: exit code %d: %s%s", user, strings.Join(args, " "), code, out, errs)
		}
		return code == 0
	})
	return out
}

var grants = regexp.MustCompile(`kubectl create (cluster)?rolebinding .*--user=\S+`)

// refused runs a podstep command that a person may not do, and returns the command that grants it.
func (c *cluster) refused(user string, args ...string) (grant string) {
	c.t.Helper()
	out, errs, code := c.run(user, args...)
	if grant = grants.FindString(errs); code == 0 || grant == "" {
		c.t.Fatalf("%s, podstep %s: exit code %d, no command that grants it: %s%s", user, strings.Join(args, " "), code, out, errs)
	}
	return grant
}
