package kubelets

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
)

// URL returns where the kubelet serves a path such as /pods over TLS, to clients with credentials; "" if it does
// not. The URL is for this machine: for an address that means all addresses it has the loopback's.
func (k *Kubelet) URL(path string) string {
	if k.Port == 0 {
		return ""
	}
	host := k.Address
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "https://" + net.JoinHostPort(host, strconv.Itoa(k.Port)) + path
}

// maxAnswer is more than any kubelet's configuration or metrics.
const maxAnswer = 16 << 20

// Configz asks the kubelet what it really runs with, which counts over files and flags. Problems says where that is
// another runtime. The client has the credentials: a kubelet answers only to users that may proxy to nodes. Its
// transport may have k.Dial to reach kubelets in networks of their own. With an error Configz returns what was
// known before.
func Configz(ctx context.Context, k Kubelet, client *http.Client) (Kubelet, error) {
	text, err := k.get(ctx, client, "/configz")
	if err != nil {
		return k, err
	}
	config, err := parseConfigz(text)
	if err != nil {
		return k, err
	}
	k.Problems = append([]string(nil), k.Problems...)
	k.Address, k.Port = or(config.Address, k.Address), or(config.Port, k.Port)
	k.CgroupRoot = or(config.CgroupRoot, k.CgroupRoot)
	// The kubelet leaves out the port if it is switched off.
	k.ReadOnlyPort = or(config.ReadOnlyPort, 0)
	k.adopt(config)
	if k.Version == "" {
		k.Version = k.askVersion(ctx, client)
	}
	return k, nil
}

// adopt takes over the endpoints that the kubelet states. Older kubelets had them as flags alone, and state none.
func (k *Kubelet) adopt(config *settings) {
	runtime := or(config.ContainerRuntimeEndpoint, "")
	if runtime == "" {
		return
	}
	was := k.RuntimeEndpoint
	k.setEndpoints(runtime, or(config.ImageServiceEndpoint, runtime))
	if was != k.RuntimeEndpoint {
		k.problem("its /configz says its runtime is at %s, and not at %s", k.RuntimeEndpoint, was)
	}
}

func parseConfigz(text []byte) (*settings, error) {
	var answer struct {
		Config *settings `json:"kubeletconfig"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("parse /configz: %w", err)
	}
	if answer.Config == nil {
		return nil, fmt.Errorf("parse /configz: it has no kubeletconfig")
	}
	return answer.Config, nil
}

var gitVersion = regexp.MustCompile(`(?m)^kubernetes_build_info\{[^}\n]*git_version="(v1\.\d+\.\d+[\w.+-]*)"`)

// askVersion returns the version from the kubelet's metrics, "" if they do not have it.
func (k *Kubelet) askVersion(ctx context.Context, client *http.Client) string {
	text, err := k.get(ctx, client, "/metrics")
	if err != nil {
		return ""
	}
	if m := gitVersion.FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}

func (k *Kubelet) get(ctx context.Context, client *http.Client, path string) ([]byte, error) {
	url := k.URL(path)
	if url == "" {
		return nil, fmt.Errorf("ask kubelet %d: its port is switched off", k.PID)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("ask kubelet: %w", err)
	}
	answer, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask kubelet: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		_, _ = io.CopyN(io.Discard, answer.Body, 64<<10)
		return nil, fmt.Errorf("ask kubelet: %s answers %s", url, answer.Status)
	}
	text, err := readAll(answer.Body, maxAnswer)
	if err != nil {
		return nil, fmt.Errorf("ask kubelet: read %s: %w", url, err)
	}
	return text, nil
}
