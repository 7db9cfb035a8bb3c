package kubelets

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"sigs.k8s.io/yaml"
)

// Where k3s has its things, unless its settings differ.
const (
	k3sConfig  = "/etc/rancher/k3s/config.yaml"
	k3sData    = "/var/lib/rancher/k3s"
	k3sRuntime = "/run/k3s/containerd/containerd.sock"
	k3sDocker  = "/run/k3s/cri-dockerd/cri-dockerd.sock"
)

// k3sFlags returns the flags with which k3s starts its kubelet, inside of its own process. k3s hides its command
// line, which may have secrets. So flags that were given there, and not in its configuration file, are not known.
func (k *Kubelet) k3sFlags(p *process, own flagSet) flagSet {
	file := p.abs(first(own.last("config", "c"), k3sConfig))
	own = own.before(k.k3sConfig(file))
	data := p.abs(first(own.last("data-dir", "d"), k3sUnpacked(p.exe), k3sData))
	p.withoutKubelet = own.last("disable-agent") == "true"

	flags := flagSet{
		"kubeconfig":                 {path.Join(data, "agent/kubelet.kubeconfig")},
		"container-runtime-endpoint": {k3sEndpoint(own)},
		"read-only-port":             {"0"},
	}
	if name := own.last("node-name"); name != "" {
		flags["hostname-override"] = []string{name}
	}
	// Newer ones give their kubelet a directory of configuration.
	if dir := path.Join(data, "agent/etc/kubelet.conf.d"); exists(k.Root, dir) {
		flags["config-dir"] = []string{dir}
	}
	for _, arg := range own["kubelet-arg"] {
		name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		flags[name] = append(flags[name], value)
	}
	return flags
}

// k3sUnpacked returns the data directory that k3s unpacked itself into, if it runs as DIR/data/HASH/bin/k3s.
func k3sUnpacked(program string) string {
	if data := path.Dir(path.Dir(path.Dir(program))); path.Base(data) == "data" && path.Base(path.Dir(program)) == "bin" {
		return path.Dir(data)
	}
	return ""
}

func k3sEndpoint(own flagSet) string {
	switch endpoint := own.last("container-runtime-endpoint"); {
	case endpoint != "":
		return endpoint
	case own.last("docker") == "true":
		return k3sDocker
	}
	return k3sRuntime
}

// before puts the values of files before those of the command line: the last one counts.
func (f flagSet) before(files flagSet) flagSet {
	for name, values := range f {
		files[name] = append(files[name], values...)
	}
	return files
}

// k3sConfig reads k3s's file and those in the directory beside it.
func (k *Kubelet) k3sConfig(file string) flagSet {
	files := []string{file}
	drops, err := listIn(k.Root, file+".d", ".yaml", ".yml")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		k.problem("its configuration %s.d cannot be read: %v", file, err)
	}
	all := flagSet{}
	for _, file := range append(files, drops...) {
		text, err := readIn(k.Root, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var flags flagSet
		if err == nil {
			flags, err = parseK3sConfig(text)
		}
		if err != nil {
			k.problem("its configuration %s: %v", file, err)
			continue
		}
		all.adopt(flags)
	}
	return all
}

// adopt replaces the values of earlier files by those of a later one. A value whose name has a + behind it is added
// instead.
func (f flagSet) adopt(later flagSet) {
	for name, values := range later {
		if plain, more := strings.CutSuffix(name, "+"); more {
			f[plain] = append(f[plain], values...)
		} else {
			f[name] = values
		}
	}
}

// parseK3sConfig reads a configuration file of k3s: flags without dashes, each
// with a value or a list of them.
func parseK3sConfig(text []byte) (flagSet, error) {
	var c map[string]any
	if err := yaml.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("parse configuration: %w", err)
	}
	flags := flagSet{}
	for name, value := range c {
		values, ok := value.([]any)
		if !ok {
			values = []any{value}
		}
		for _, v := range values {
			flags[name] = append(flags[name], fmt.Sprint(v))
		}
	}
	return flags, nil
}

// microK8sFlags returns the flags of the kubelet in a kubelite. They are in a file of their own, one a line, beside
// the files of the other parts.
func (k *Kubelet) microK8sFlags(own flagSet) flagSet {
	file := own.last("kubelet-args-file")
	if file == "" {
		k.problem("its command line names no file with the kubelet's flags")
		return flagSet{}
	}
	text, err := readIn(k.Root, file)
	if err != nil {
		k.problem("its flags cannot be read: %v", err)
		return flagSet{}
	}
	return parseArgsFile(string(text), snapVariables(file))
}

// snapVariables returns the values of the variables that a snap's files use. They follow from where the files are:
// /var/snap/NAME/REVISION/args/kubelet.
func snapVariables(file string) *strings.Replacer {
	data := path.Dir(path.Dir(file))
	common := path.Join(path.Dir(data), "common")
	snap := path.Join("/snap", path.Base(path.Dir(data)), path.Base(data))
	return strings.NewReplacer(
		"${SNAP_DATA}", data, "$SNAP_DATA", data,
		"${SNAP_COMMON}", common, "$SNAP_COMMON", common,
		"${SNAP}", snap, "$SNAP", snap,
	)
}

var unquote = strings.NewReplacer(`"`, "", "'", "")

func parseArgsFile(text string, variables *strings.Replacer) flagSet {
	var args []string
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		args = append(args, strings.Fields(unquote.Replace(variables.Replace(line)))...)
	}
	return parseFlags(args)
}
