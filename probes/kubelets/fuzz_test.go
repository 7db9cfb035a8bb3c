package kubelets

import (
	"strings"
	"testing"
)

// FuzzArgs: any command line can be read, and each flag has a name and a value.
func FuzzArgs(f *testing.F) {
	for _, s := range []string{"", "kubelet\x00--config=/a\x00--v\x002\x00", "k3s server\x00\x00\x00", "-\x00--\x00--a", "a\x00--=\x00---x_y=z=\x00--config\x00--port\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		args := splitArgs(b)
		flags := parseFlags(args)
		for name, values := range flags {
			if name == "" || strings.ContainsAny(name, "=_") || len(values) == 0 {
				t.Errorf("flag %q has values %q", name, values)
			}
			if flags.flat()[name] != flags.last(name) {
				t.Errorf("flag %q has two last values", name)
			}
		}
		p := &process{args: args}
		p.hasKubelet()
		parseArgsFile(string(b), snapVariables(string(b)))
	})
}

// FuzzStat: a process may choose its name, and so change the look of its stat.
func FuzzStat(f *testing.F) {
	f.Add("7 (kubelet) S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 12 0 1007 0 0\n", "kube) S 9 (")
	f.Add("7 (kubelet) Z 1", "")
	f.Fuzz(func(t *testing.T, stat, name string) {
		_ = new(process).readStat(stat)
		var p process
		if err := p.readStat("7 (" + name + ") S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 12 0 1007 0 0\n"); err != nil {
			t.Fatal(err)
		}
		if p.comm != name || p.parent != 1 || p.threads != 12 || p.started != 1007 {
			t.Errorf("a process called %q is read as %+v", name, p)
		}
	})
}

// FuzzConfig: a text that is no configuration gives an error, and does no more harm.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{
		"", "kind: KubeletConfiguration\nport: 1\n", `{"kubeletconfig":{"port":1}}`, "port: many", "kubelet-arg:\n- a=b\nx: {y: 1}\n",
		"a: &a [*a]", "a: &a [1,1]\nb: &b [*a,*a]\n", kubeconfig("a.crt"), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := parseConfig(b); err == nil {
			all := &settings{}
			all.overrideBy(s)
			if *all != *s {
				t.Errorf("%+v over nothing is %+v", s, all)
			}
		}
		_, _ = parseConfigz(b)
		_, _ = nodeOf(b)
		if file, data, err := parseKubeconfig(b); err == nil && file == "" && len(data) == 0 {
			t.Error("a certificate is nowhere")
		}
		flags, err := parseK3sConfig(b)
		if err != nil {
			return
		}
		for name, values := range flags {
			if values == nil {
				continue // an empty list
			}
			all := flagSet{}
			all.adopt(flagSet{name: values})
			if len(all) != 1 {
				t.Errorf("%q is lost", name)
			}
		}
	})
}
