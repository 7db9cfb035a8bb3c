package kubeport

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig is a file that may say how to reach the API server.
type Kubeconfig struct {
	Path string
	// Root is the root directory for the path, and for all paths in the file, such as /proc/PID/root for a kubelet in
	// a container; empty: podstep's own.
	Root string
	// Named is true if a person named the file. Then no other file is tried.
	Named bool
}

// adminKubeconfig is where kubeadm leaves an administrator's credentials.
const adminKubeconfig = "/etc/kubernetes/admin.conf"

// Candidates returns the kubeconfigs to try, the best first: the named one, that of the environment, the
// administrator's on this machine or where the kubelet is, the kubelet's own. The kubelet's own is enough for pods,
// but not for events.
func Candidates(named, environment string, kubelet Kubeconfig) []Kubeconfig {
	if named != "" {
		return []Kubeconfig{{Path: named, Named: true}}
	}
	var out []Kubeconfig
	for _, path := range filepath.SplitList(environment) {
		out = append(out, Kubeconfig{Path: path})
	}
	if kubelet.Root != "" {
		out = append(out, Kubeconfig{Path: adminKubeconfig, Root: kubelet.Root})
	}
	out = append(out, Kubeconfig{Path: adminKubeconfig})
	if kubelet.Path != "" {
		out = append(out, kubelet)
	}
	return out
}

// Credentials returns the configuration of the first kubeconfig that exists and is of the kubelet's cluster. The last
// candidate shows which cluster that is; a person's kubeconfig may be of another. No configuration and no error mean
// that no file exists.
func Credentials(candidates []Kubeconfig) (config *rest.Config, from Kubeconfig, err error) {
	var own *rest.Config
	if n := len(candidates); n > 0 {
		own, _ = candidates[n-1].load()
	}
	var errs []error
	for _, k := range candidates {
		config, err := k.load()
		switch {
		case errors.Is(err, fs.ErrNotExist) && !k.Named:
		case err != nil:
			errs = append(errs, err)
		case !sameCluster(config, own):
			errs = append(errs, fmt.Errorf("kubeconfig %s is of another cluster than the kubelet's", k.Path))
		default:
			return config, k, nil
		}
	}
	return nil, Kubeconfig{}, errors.Join(errs...)
}

// sameCluster reports whether two configurations trust a certificate in common. It returns true if one of them trusts
// what the system trusts, since then nothing is known.
func sameCluster(a, b *rest.Config) bool {
	if a == nil || b == nil || len(a.CAData) == 0 || len(b.CAData) == 0 || bytes.Equal(a.CAData, b.CAData) {
		return true
	}
	has := map[string]bool{}
	for _, der := range certificates(a.CAData) {
		has[string(der)] = true
	}
	for _, der := range certificates(b.CAData) {
		if has[string(der)] {
			return true
		}
	}
	return false
}

func certificates(text []byte) (out [][]byte) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return out
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			out = append(out, c.Raw)
		}
	}
}

// load reads the kubeconfig and all files that it names, so that none has to be found later, under another root.
func (k Kubeconfig) load() (*rest.Config, error) {
	text, err := k.read(k.Path)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", k.Path, err)
	}
	file, err := clientcmd.Load(text)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", k.Path, err)
	}
	if err := k.inline(file); err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", k.Path, err)
	}
	config, err := clientcmd.NewDefaultClientConfig(*file, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", k.Path, err)
	}
	return config, nil
}

// inline puts the files that the context in use names into the kubeconfig itself.
func (k Kubeconfig) inline(file *clientcmdapi.Config) error {
	context := file.Contexts[file.CurrentContext]
	if context == nil {
		return nil // clientcmd says what is wrong
	}
	if c := file.Clusters[context.Cluster]; c != nil {
		if err := k.into(&c.CertificateAuthorityData, &c.CertificateAuthority); err != nil {
			return err
		}
	}
	user := file.AuthInfos[context.AuthInfo]
	if user == nil {
		return nil
	}
	if err := k.into(&user.ClientCertificateData, &user.ClientCertificate); err != nil {
		return err
	}
	if err := k.into(&user.ClientKeyData, &user.ClientKey); err != nil {
		return err
	}
	token := []byte(user.Token)
	if err := k.into(&token, &user.TokenFile); err != nil {
		return err
	}
	user.Token = string(token)
	if user.Exec != nil && !k.isOurs() {
		// A program of the kubelet's container may not run here, and must not: it is somebody else's.
		return errors.New("it logs in with a program, which cannot be run from outside of the kubelet's container")
	}
	return nil
}

// into reads the file *name, if one is named, into data, and clears the name.
func (k Kubeconfig) into(data *[]byte, name *string) error {
	if *name == "" {
		return nil
	}
	path := *name
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(k.Path), path)
	}
	text, err := k.read(path)
	if err != nil {
		return err
	}
	*data, *name = text, ""
	return nil
}

// maxFile bounds how much of a file is read: these are small.
const maxFile = 4 << 20

func (k Kubeconfig) read(path string) ([]byte, error) {
	f, err := k.open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s is too large", path)
	}
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// open opens a file. It does not wait for the writer of a pipe.
func (k Kubeconfig) open(path string) (*os.File, error) {
	if k.isOurs() {
		return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	}
	return openWithin(k.Root, path)
}

// isOurs reports whether the root is podstep's own.
func (k Kubeconfig) isOurs() bool { return k.Root == "" || filepath.Clean(k.Root) == "/" }
