package kubelets

import "strings"

// withValue are the flags that we read and that always take the next argument
// as their value, whatever it looks like.
var withValue = map[string]bool{
	"address": true, "cgroup-root": true, "config": true, "config-dir": true,
	"container-runtime-endpoint": true, "hostname-override": true,
	"image-service-endpoint": true, "kubeconfig": true, "kubelet-arg": true,
	"kubelet-args-file": true, "node-name": true, "port": true, "provider-id": true,
	"read-only-port": true, "root-dir": true, "data-dir": true,
	// Short ones of k3s.
	"c": true, "d": true, "v": true,
}

// flagSet are the flags of a command line. A flag that is given more than once
// has several values.
type flagSet map[string][]string

// parseFlags reads a command line as the kubelet does: --flag=value and --flag value, dashes and underscores alike,
// until "--". For a flag that we do not know it is open whether the next argument is its value. The kubelet takes
// no other arguments, so one that does not look like a flag is.
func parseFlags(args []string) flagSet {
	flags := flagSet{}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			continue
		}
		name, value, has := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		name = strings.ReplaceAll(name, "_", "-")
		if name == "" {
			continue
		}
		if !has {
			value = "true"
			if i+1 < len(args) && (withValue[name] || !strings.HasPrefix(args[i+1], "-")) {
				i++
				value = args[i]
			}
		}
		flags[name] = append(flags[name], value)
	}
	return flags
}

// last returns the value that counts, "" if there is none.
func (f flagSet) last(names ...string) string {
	for _, name := range names {
		if all := f[name]; len(all) > 0 {
			return all[len(all)-1]
		}
	}
	return ""
}

// flat returns the value that counts of each flag.
func (f flagSet) flat() map[string]string {
	out := make(map[string]string, len(f))
	for name := range f {
		out[name] = f.last(name)
	}
	return out
}
