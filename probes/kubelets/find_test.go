package kubelets

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"
)

const containerd = "/run/containerd/containerd.sock"

// plain returns a kubelet that has no settings, changed by differs.
func plain(differs func(*Kubelet)) Kubelet {
	k := Kubelet{
		PID: 7, Started: 1007, Program: "/usr/bin/kubelet", Kind: KindPlain, Node: "host-1",
		RuntimeEndpoint: containerd, ImageEndpoint: containerd,
		RootDir: "/var/lib/kubelet", Cgroup: "/system.slice/kubelet.service",
		Address: "0.0.0.0", Port: 10250, ReadOnlyPort: 10255,
	}
	differs(&k)
	return k
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		is    made
		want  Kubelet
	}{
		{
			name: "defaults",
			is:   made{args: []string{"/usr/bin/kubelet"}},
			want: plain(func(*Kubelet) {}),
		},
		{
			name: "flags, both spellings, the last counts",
			is: made{args: []string{"kubelet", "--hostname-override", "Other", "--hostname-override", "Node-7 ", "--kubeconfig=/etc/k",
				"--root_dir=/data/kubelet", "--container-runtime-endpoint", "unix:///run/crio/crio.sock", "--port=0", "--read-only-port", "1", "--address", "::1",
				"--cgroup-root=/pods", "--fail-swap-on", "--v=2"}},
			files: map[string]string{"host/etc/k": "users: []\n"},
			want: plain(func(k *Kubelet) {
				k.Node, k.Kubeconfig, k.RootDir, k.CgroupRoot = "node-7", "/etc/k", "/data/kubelet", "/pods"
				k.RuntimeEndpoint, k.ImageEndpoint = "/run/crio/crio.sock", "/run/crio/crio.sock"
				k.Port, k.ReadOnlyPort, k.Address = 0, 1, "::1"
			}),
		},
		{
			name: "a file, drop-ins in order, and a flag over them",
			is:   made{args: []string{"kubelet", "--config", "conf/kubelet.yaml", "--config-dir=/etc/kubelet.d", "--image-service-endpoint=/run/images.sock"}},
			files: map[string]string{
				"host/opt/start/conf/kubelet.yaml": "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nport: 1\naddress: 10.0.0.1\ncgroupRoot: /a\ncontainerRuntimeEndpoint: unix:///a.sock\nimageServiceEndpoint: unix:///b.sock\n",
				"host/etc/kubelet.d/20-b.conf":     "port: 3\n",
				"host/etc/kubelet.d/10-a.conf":     "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\nport: 2\naddress: 10.0.0.2\n",
				"host/etc/kubelet.d/30/c.conf":     `{"cgroupRoot": "/c"}`,
				"host/etc/kubelet.d/99-no.yaml":    "port: 9\n",
			},
			want: plain(func(k *Kubelet) {
				k.Config, k.ConfigDir = "/opt/start/conf/kubelet.yaml", "/etc/kubelet.d"
				k.RuntimeEndpoint, k.ImageEndpoint, k.CgroupRoot = "/a.sock", "/run/images.sock", "/c"
				k.Address, k.Port, k.ReadOnlyPort = "10.0.0.2", 3, 0
			}),
		},
		{
			name: "what makes no sense is said",
			is:   made{args: []string{"kubelet", "--config=/etc/k.yaml", "--config-dir=/etc/none", "--port=many", "--container-runtime-endpoint=tcp://1.2.3.4:5", "--kubeconfig=/etc/none"}},
			files: map[string]string{
				"host/etc/k.yaml": "kind: Pod\n",
			},
			want: plain(func(k *Kubelet) {
				k.Config, k.ConfigDir, k.Kubeconfig = "/etc/k.yaml", "/etc/none", "/etc/none"
				k.RuntimeEndpoint, k.ImageEndpoint, k.Port, k.ReadOnlyPort = "", "", 0, 0
				k.NoEndpoint = `its endpoint "tcp://1.2.3.4:5" is a TCP address, not a unix socket`
				k.Problems = []string{
					"its drop-in configuration /etc/none cannot be read: open /etc/none: no such file or directory",
					`its configuration /etc/k.yaml makes no sense: parse configuration: it is of kind "Pod", not KubeletConfiguration`,
					"its --port is no port",
					`its endpoint "tcp://1.2.3.4:5" is a TCP address, not a unix socket`,
					"its kubeconfig /etc/none is not there",
				}
			}),
		},
		{
			name:  "links lead inside of its own files",
			is:    made{machine: "inner", args: []string{"kubelet", "--config=/etc/k.yaml"}},
			files: map[string]string{"inner/real/k.yaml": "port: 4\n", "inner/etc/hostname": "inner\nx"},
			want: plain(func(k *Kubelet) {
				k.Config, k.Port, k.ReadOnlyPort, k.Node = "/etc/k.yaml", 4, 0, "inner"
			}),
		},
		{
			name: "replaced while it runs",
			is:   made{exe: "/usr/bin/kubelet (deleted)", args: []string{"kubelet"}},
			want: plain(func(*Kubelet) {}),
		},
		{
			name: "hyperkube",
			is:   made{exe: "/hyperkube", args: []string{"/hyperkube", "--v=1", "kubelet", "--node-ip", "1.2.3.4"}},
			want: plain(func(k *Kubelet) { k.Program = "/hyperkube" }),
		},
		{
			name:  "kind",
			is:    made{machine: "kind", args: []string{"/usr/bin/kubelet", "--bootstrap-kubeconfig=/b", "--provider-id=kind://docker/kind/kind-worker"}},
			files: map[string]string{"kind/etc/hostname": "kind-worker\n"},
			want:  plain(func(k *Kubelet) { k.Kind, k.Node = KindKind, "kind-worker" }),
		},
		{
			name: "minikube",
			is:   made{exe: "/var/lib/minikube/binaries/v1.35.0/kubelet", args: []string{"/var/lib/minikube/binaries/v1.35.0/kubelet", "--hostname-override=minikube"}},
			want: plain(func(k *Kubelet) {
				k.Kind, k.Node, k.Program = KindMinikube, "minikube", "/var/lib/minikube/binaries/v1.35.0/kubelet"
			}),
		},
		{
			name: "k0s",
			is:   made{exe: "/var/lib/k0s/bin/kubelet", args: []string{"/var/lib/k0s/bin/kubelet", "--root-dir=/var/lib/k0s/kubelet", "--container-runtime-endpoint=unix:///run/k0s/containerd.sock"}},
			want: plain(func(k *Kubelet) {
				k.Kind, k.Program, k.RootDir = KindK0s, "/var/lib/k0s/bin/kubelet", "/var/lib/k0s/kubelet"
				k.RuntimeEndpoint, k.ImageEndpoint = "/run/k0s/containerd.sock", "/run/k0s/containerd.sock"
			}),
		},
		{
			name: "rke2 starts a kubelet of its own",
			is: made{exe: "/var/lib/rancher/rke2/data/v1.35.4-rke2r1-0123/bin/kubelet", args: []string{"kubelet", "--volume-plugin-dir=/v", "--file-check-frequency=5s",
				"--config-dir=/var/lib/rancher/rke2/agent/etc/kubelet.conf.d", "--kubeconfig=/var/lib/rancher/rke2/agent/kubelet.kubeconfig", "--hostname-override=rke"}},
			files: map[string]string{
				"host/var/lib/rancher/rke2/agent/etc/kubelet.conf.d/00-rke2-defaults.conf": "containerRuntimeEndpoint: unix:///run/k3s/containerd/containerd.sock\naddress: 0.0.0.0\n",
				"host/var/lib/rancher/rke2/agent/kubelet.kubeconfig":                       kubeconfig("client-kubelet.crt"),
				"host/var/lib/rancher/rke2/agent/client-kubelet.crt":                       certificate(t, "system:node:rke-cert"),
			},
			want: plain(func(k *Kubelet) {
				k.Kind, k.Program, k.Node = KindRKE2, "/var/lib/rancher/rke2/data/v1.35.4-rke2r1-0123/bin/kubelet", "rke-cert"
				k.ConfigDir, k.Kubeconfig = "/var/lib/rancher/rke2/agent/etc/kubelet.conf.d", "/var/lib/rancher/rke2/agent/kubelet.kubeconfig"
				k.RuntimeEndpoint, k.ImageEndpoint = k3sRuntime, k3sRuntime
			}),
		},
		{
			name: "k3s server, which hides its command line",
			is:   made{exe: "/var/lib/rancher/k3s/data/0123/bin/k3s", args: []string{"/usr/local/bin/k3s server\x00\x00\x00"}},
			files: map[string]string{
				"host/etc/rancher/k3s/config.yaml":                                       "node-name: three\nkubelet-arg:\n- port=1111\n- max-pods=5\n",
				"host/etc/rancher/k3s/config.yaml.d/a.yaml":                              "kubelet-arg+: root-dir=/pods\n",
				"host/var/lib/rancher/k3s/agent/kubelet.kubeconfig":                      "x: y\n",
				"host/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/00-k3s-defaults.conf": "cgroupRoot: /k3s\n",
			},
			want: plain(func(k *Kubelet) {
				k.Kind, k.Program, k.Node = KindK3s, "/var/lib/rancher/k3s/data/0123/bin/k3s", "three"
				k.Kubeconfig, k.ConfigDir = "/var/lib/rancher/k3s/agent/kubelet.kubeconfig", "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d"
				k.RuntimeEndpoint, k.ImageEndpoint, k.CgroupRoot = k3sRuntime, k3sRuntime, "/k3s"
				k.Port, k.ReadOnlyPort, k.RootDir = 1111, 0, "/pods"
			}),
		},
		{
			name: "k3s agent with a runtime of its own, by flags",
			is: made{exe: "/srv/k3s/data/0123/bin/k3s", args: []string{"k3s", "--debug", "agent", "--data-dir=/srv/k3s", "--container-runtime-endpoint=/run/crio/crio.sock",
				"--kubelet-arg=hostname-override=agent-1"}},
			files: map[string]string{"host/srv/k3s/agent/kubelet.kubeconfig": "x: y\n"},
			want: plain(func(k *Kubelet) {
				k.Kind, k.Program, k.Node, k.Kubeconfig = KindK3s, "/srv/k3s/data/0123/bin/k3s", "agent-1", "/srv/k3s/agent/kubelet.kubeconfig"
				k.RuntimeEndpoint, k.ImageEndpoint, k.ReadOnlyPort = "/run/crio/crio.sock", "/run/crio/crio.sock", 0
			}),
		},
		{
			name: "k3s with docker",
			is:   made{exe: "/x/k3s", args: []string{"k3s", "server", "--docker", "--data-dir", "/d"}},
			files: map[string]string{
				"host/d/agent/kubelet.kubeconfig": "x: y\n",
			},
			want: plain(func(k *Kubelet) {
				k.Kind, k.Program, k.Kubeconfig = KindK3s, "/x/k3s", "/d/agent/kubelet.kubeconfig"
				k.RuntimeEndpoint, k.ImageEndpoint, k.ReadOnlyPort = k3sDocker, k3sDocker, 0
			}),
		},
		{
			name: "microk8s",
			is:   made{exe: "/snap/microk8s/9072/kubelite", args: []string{"/snap/microk8s/9072/kubelite", "--kubelet-args-file=/var/snap/microk8s/9072/args/kubelet", "--start-control-plane=true"}},
			files: map[string]string{
				"host/var/snap/microk8s/9072/args/kubelet": "# mine\n--kubeconfig=${SNAP_DATA}/credentials/kubelet.config\n--root-dir=${SNAP_COMMON}/var/lib/kubelet\n" +
					"--container-runtime-endpoint=\"${SNAP_COMMON}/run/containerd.sock\"\n--anonymous-auth=false\n",
				"host/var/snap/microk8s/9072/credentials/kubelet.config": "x: y\n",
			},
			want: plain(func(k *Kubelet) {
				k.Kind, k.Program, k.Kubeconfig = KindMicroK8s, "/snap/microk8s/9072/kubelite", "/var/snap/microk8s/9072/credentials/kubelet.config"
				k.RootDir = "/var/snap/microk8s/common/var/lib/kubelet"
				k.RuntimeEndpoint, k.ImageEndpoint = "/var/snap/microk8s/common/run/containerd.sock", "/var/snap/microk8s/common/run/containerd.sock"
			}),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := newTree(t)
			tr.write("host/etc/hostname", "host-1\n")
			tr.write("proc/1/cmdline", "init\x00")
			for name, text := range c.files {
				tr.write(name, text)
			}
			if strings.Contains(c.name, "links") {
				// Followed from our own root, this link would lead nowhere.
				tr.link("/real/../../../real/k.yaml", "inner/etc/k.yaml")
			}
			c.is.pid = 7
			if c.is.exe == "" {
				c.is.exe = "/usr/bin/kubelet"
			}
			tr.process(c.is)
			if got := tr.find(); len(got) != 1 || !reflect.DeepEqual(got[0], c.want) {
				t.Errorf("found\n%+v, want\n%+v", got, c.want)
			}
		})
	}
}

func kubeconfig(file string) string {
	return "current-context: a\ncontexts:\n- {name: b, context: {user: none}}\n- {name: a, context: {cluster: local, user: me}}\nusers:\n- name: me\n  user: {client-certificate: " + file + "}\n"
}

// certificate returns a certificate for that name, behind the key that kubelets keep in the same file.
func certificate(t *testing.T, name string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})) +
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestFindAmongMany(t *testing.T) {
	tr := newTree(t)
	for _, m := range []made{
		{pid: 30, exe: "/usr/bin/kubelet", args: []string{"kubelet"}},
		{pid: 4, exe: "/bin/podstep-kubelet", machine: "lab", args: []string{"podstep-kubelet", "--hostname-override=lab"}},
		// Between fork and exec a child of the kubelet looks like one.
		{pid: 31, parent: 30, threads: 1, exe: "/usr/bin/kubelet", args: []string{"kubelet"}},
		// One that a kubelet's container started is one, however.
		{pid: 32, parent: 30, threads: 9, exe: "/usr/bin/kubelet", args: []string{"kubelet", "--port=1"}},
		// A k3s that writes a log file watches over another.
		{pid: 40, exe: "/k3s", args: []string{"k3s server"}},
		{pid: 41, parent: 40, exe: "/k3s", args: []string{"k3s server"}},
		{pid: 42, exe: "/k3s", args: []string{"k3s", "server", "--disable-agent"}},
		{pid: 43, exe: "/k3s", args: []string{"kubectl", "get", "pods"}},
		{pid: 50, exe: "/bin/sh", args: []string{"kubelet"}},
		{pid: 51, exe: "/hyperkube", args: []string{"hyperkube", "kube-proxy"}},
		{pid: 52, exe: "/kubelet-csr-approver", args: []string{"kubelet-csr-approver"}},
		{pid: 53, exe: "/usr/bin/rke2", args: []string{"rke2", "server"}},
	} {
		tr.process(m)
	}
	tr.write("proc/60/cmdline", "kubelet\x00")
	tr.write("proc/60/stat", "60 (kubelet) Z 1\n")
	var pids []int
	for _, k := range tr.find() {
		pids = append(pids, k.PID)
	}
	if want := []int{4, 30, 32, 41}; !reflect.DeepEqual(pids, want) {
		t.Errorf("found %v, want %v", pids, want)
	}
}

func TestByPID(t *testing.T) {
	tr := newTree(t)
	tr.process(made{pid: 7, exe: "/usr/bin/kubelet", args: []string{"kubelet"}})
	tr.process(made{pid: 8, exe: "/usr/bin/bash", args: []string{"bash"}})
	tr.process(made{pid: 9, exe: "/k3s", args: []string{"k3s", "server", "--disable-agent"}})
	o := Options{Proc: tr.proc()}
	k, err := ByPID(t.Context(), 7, o)
	if err != nil || k.PID != 7 || !k.Same() {
		t.Errorf("found %+v, %v", k, err)
	}
	k.Started++
	if k.Same() {
		t.Error("another process with its pid is taken for it")
	}
	for pid, want := range map[int]string{
		6: "no process 6 runs here: podstep doctor lists the kubelets that do",
		8: "process 8 (bash) is no kubelet: podstep doctor lists those that run here",
		9: "process 9 (k3s) runs without a kubelet",
	} {
		if _, err := ByPID(t.Context(), pid, o); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestChoose(t *testing.T) {
	one, two, odd := Kubelet{PID: 1, Kind: KindPlain, Version: "v1.36.3", Node: "a\x1b[2J", RuntimeEndpoint: containerd}, Kubelet{PID: 22, Kind: KindK3s, Woven: true}, Kubelet{PID: 3, Doubt: "?"}
	for _, c := range []struct {
		of   []Kubelet
		pid  int
		want string
	}{
		{nil, 0, "no kubelet runs here: run this on a node, or podstep lab for a node of your own"},
		{[]Kubelet{one}, 1, ""},
		{[]Kubelet{odd}, 3, ""},
		{[]Kubelet{odd, two}, 22, ""},
		{[]Kubelet{one, two, odd}, 0, "2 kubelets run here, with the pids 1, 22: name one with --pid"},
	} {
		k, err := Choose(c.of)
		if text := errText(err); k.PID != c.pid || text != c.want {
			t.Errorf("chose %d, %q; want %d, %q", k.PID, text, c.pid, c.want)
		}
	}
	const want = "PID  KIND        VERSION  NODE   RUNTIME\n" +
		"1    kubelet     v1.36.3  a?[2J  /run/containerd/containerd.sock\n" +
		"22   k3s, woven  -        -      -"
	if got := Table([]Kubelet{one, two}); got != want {
		t.Errorf("table\n%s\nwant\n%s", got, want)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestUnseen: settings of files that may not be read are not guessed.
func TestUnseen(t *testing.T) {
	for _, c := range []struct {
		config         string
		args           []string
		runtime, image string
	}{
		{"", nil, containerd, containerd},
		{"/c", nil, "", ""},
		{"/c", []string{"--container-runtime-endpoint=/run/crio.sock"}, containerd, containerd},
		{"/c", []string{"--image-service-endpoint=/i.sock"}, "", containerd},
	} {
		k := Kubelet{Config: c.config, RuntimeEndpoint: containerd, ImageEndpoint: containerd, Problems: []string{"one", "two"}}
		k.unseen(parseFlags(c.args))
		if k.RuntimeEndpoint != c.runtime || k.ImageEndpoint != c.image || len(k.Problems) != 1 {
			t.Errorf("config %q, flags %q: %+v", c.config, c.args, k)
		}
	}
}
