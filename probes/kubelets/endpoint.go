package kubelets

import (
	"fmt"
	"path"
	"strings"
)

// endpoints sets the sockets over which the kubelet speaks, as flags and files have them.
func (k *Kubelet) endpoints(flags flagSet, config *settings) {
	runtime := first(flags.last("container-runtime-endpoint"), or(config.ContainerRuntimeEndpoint, defaultRuntime))
	k.setEndpoints(runtime, first(flags.last("image-service-endpoint"), or(config.ImageServiceEndpoint, runtime)))
}

func (k *Kubelet) setEndpoints(runtime, image string) {
	k.RuntimeEndpoint, k.NoEndpoint = k.socket(runtime)
	if k.ImageEndpoint = k.RuntimeEndpoint; image != runtime {
		k.ImageEndpoint, _ = k.socket(image)
	}
}

// socket returns the path of an endpoint, or why it has none.
func (k *Kubelet) socket(endpoint string) (name, why string) {
	name, why = socketPath(endpoint)
	if why != "" {
		why = fmt.Sprintf("its endpoint %q %s", endpoint, why)
		k.problem("%s", why)
	}
	return name, why
}

// socketPath returns the path of the socket that an endpoint means, or what the endpoint is instead. A kubelet
// takes unix:///PATH, unix:/PATH and a path alone. A path that is not absolute means something else in each
// version.
func socketPath(endpoint string) (name, why string) {
	scheme, rest, found := strings.Cut(endpoint, ":")
	if !found || strings.Contains(scheme, "/") {
		scheme, rest = "unix", endpoint
	}
	rest = strings.TrimPrefix(rest, "//")
	switch {
	case scheme == "tcp":
		return "", "is a TCP address, not a unix socket"
	case scheme == "npipe":
		return "", "is a named pipe of Windows, not a unix socket"
	case scheme != "unix":
		return "", "is not a unix socket"
	case rest == "":
		return "", "names no socket"
	case rest[0] == '@' || rest[0] == 0:
		return "", "is an abstract socket, which has no path to take over"
	case rest[0] != '/':
		return "", "is not an absolute path, so the socket that it means is not known"
	}
	return path.Clean(rest), ""
}
