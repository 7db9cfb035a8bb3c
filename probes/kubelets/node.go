package kubelets

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"sigs.k8s.io/yaml"
)

// nodeName returns the name by which the API server knows the kubelet. Its certificate is surest, since the node
// authorizer goes by it. Then come its settings, and then its machine's name, which a cloud's provider may still
// override.
func (k *Kubelet) nodeName(p *process) string {
	if name, err := k.certified(); err == nil {
		return name
	}
	name := k.Flags["hostname-override"]
	if name == "" {
		name = k.hostname(p)
	}
	return strings.ToLower(strings.TrimSpace(name))
}

func (k *Kubelet) hostname(p *process) string {
	// A namespace that we may not see says nothing.
	if p.link("ns/uts") != "" && !p.elsewhere("uts") {
		name, err := os.Hostname()
		if err == nil {
			return name
		}
	}
	text, err := readIn(k.Root, "/etc/hostname")
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(string(text), "\n")
	return name
}

// certified returns the node's name in the kubelet's client certificate.
func (k *Kubelet) certified() (string, error) {
	if k.Kubeconfig == "" {
		return "", errors.New("no kubeconfig")
	}
	text, err := readIn(k.Root, k.Kubeconfig)
	if err != nil {
		return "", err
	}
	file, data, err := parseKubeconfig(text)
	if err != nil {
		return "", err
	}
	if len(data) == 0 {
		if !path.IsAbs(file) {
			file = path.Join(path.Dir(k.Kubeconfig), file)
		}
		if data, err = readIn(k.Root, file); err != nil {
			return "", err
		}
	}
	return nodeOf(data)
}

// parseKubeconfig returns the client certificate of a kubeconfig's current user: a file's path, or the certificate
// itself.
func parseKubeconfig(text []byte) (file string, data []byte, err error) {
	var c struct {
		Current  string `json:"current-context"`
		Contexts []struct {
			Name    string `json:"name"`
			Context struct {
				User string `json:"user"`
			} `json:"context"`
		} `json:"contexts"`
		Users []struct {
			Name string `json:"name"`
			User struct {
				File string `json:"client-certificate"`
				Data []byte `json:"client-certificate-data"`
			} `json:"user"`
		} `json:"users"`
	}
	if err := yaml.Unmarshal(text, &c); err != nil {
		return "", nil, fmt.Errorf("parse kubeconfig: %w", err)
	}
	for _, context := range c.Contexts {
		if context.Name != c.Current {
			continue
		}
		for _, u := range c.Users {
			if u.Name == context.Context.User && (u.User.File != "" || len(u.User.Data) > 0) {
				return u.User.File, u.User.Data, nil
			}
		}
	}
	return "", nil, errors.New("parse kubeconfig: its user has no certificate")
}

// nodeOf returns the node that a certificate is for. The file may have the key too.
func nodeOf(data []byte) (string, error) {
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return "", errors.New("parse certificate: none is there")
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return "", fmt.Errorf("parse certificate: %w", err)
		}
		name, ok := strings.CutPrefix(cert.Subject.CommonName, "system:node:")
		if !ok {
			return "", fmt.Errorf("parse certificate: %q is no node", cert.Subject.CommonName)
		}
		return name, nil
	}
}
