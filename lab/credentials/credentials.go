// Package credentials is a credential plugin for labs: a program that the kubelet runs to get the credentials for an image.
// It decides nothing. It asks somebody at a socket how to end and what to print, and does so.
package credentials

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletconfig "k8s.io/kubelet/config/v1"
	credentialapi "k8s.io/kubelet/pkg/apis/credentialprovider/v1"
	"sigs.k8s.io/yaml"
)

// Registry is the host of the images for which the plugin has credentials.
const Registry = "private.example"

// The credentials that the registry wants.
const user, password = "podstep", "let-me-in"

// Wanted are the credentials as the simulated runtime takes them.
const Wanted = user + ":" + password

// Name is the name of the plugin: that of the program of a lab.
const Name = "podstep-lab"

// Answer is what the plugin prints, and how it ends.
type Answer struct {
	Exit           int
	Output, Errors string
}

// Given is the answer with credentials for an image. wrong: they are none that the registry takes.
func Given(image string, wrong bool) (Answer, error) {
	auth := credentialapi.AuthConfig{Username: user, Password: password}
	if wrong {
		auth.Password = "not-" + password
	}
	text, err := json.Marshal(credentialapi.CredentialProviderResponse{
		TypeMeta:     metav1.TypeMeta{Kind: "CredentialProviderResponse", APIVersion: credentialapi.SchemeGroupVersion.String()},
		CacheKeyType: credentialapi.ImagePluginCacheKeyType, CacheDuration: &metav1.Duration{}, // each pull asks anew
		Auth: map[string]credentialapi.AuthConfig{image: auth},
	})
	if err != nil {
		return Answer{}, fmt.Errorf("encode credentials: %w", err)
	}
	return Answer{Output: string(text)}, nil
}

// Run is the plugin: it passes the kubelet's question on to a socket, and what comes back to the kubelet. It returns the
// exit code.
func Run(socket string, question io.Reader, out, errs io.Writer) int {
	a, err := ask(socket, question)
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	_, err = io.WriteString(out, a.Output)
	_, err2 := io.WriteString(errs, a.Errors)
	if err := errors.Join(err, err2); err != nil && a.Exit == 0 {
		return 1
	}
	return a.Exit
}

func ask(socket string, question io.Reader) (a Answer, err error) {
	conn, err := new(net.Dialer).DialContext(context.Background(), "unix", socket)
	if err != nil {
		return a, fmt.Errorf("ask for credentials: %w", err)
	}
	defer conn.Close()
	if _, err := io.Copy(conn, question); err != nil {
		return a, fmt.Errorf("ask for credentials: %w", err)
	}
	if err := json.NewDecoder(conn).Decode(&a); err != nil {
		return a, fmt.Errorf("read the answer: %w", err)
	}
	return a, nil
}

// Serve answers the plugin at a socket until the listener closes. decide gets the image, and a context that ends with the
// plugin.
func Serve(listener net.Listener, decide func(context.Context, string) (Answer, error)) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return fmt.Errorf("wait for the credential plugin: %w", err)
		}
		go func() {
			defer conn.Close()
			_ = answer(conn, decide) // the plugin that gets no answer fails, which the kubelet logs
		}()
	}
}

func answer(conn net.Conn, decide func(context.Context, string) (Answer, error)) error {
	var question credentialapi.CredentialProviderRequest
	if err := json.NewDecoder(conn).Decode(&question); err != nil {
		return fmt.Errorf("read the question: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = conn.Read(make([]byte, 1)) // it brings nothing; it ends with the connection
		cancel()
	}()
	a, err := decide(ctx, question.Image)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(conn).Encode(a); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	return nil
}

// Place puts the plugin into a directory for a kubelet, and returns the kubelet's flags for it. program is the file of
// the lab's program, which becomes the plugin if it runs with args.
func Place(dir, program string, args ...string) (flags []string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("place credential plugin: %w", err)
	}
	file, config := filepath.Join(dir, Name), filepath.Join(dir, "config.yaml")
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("place credential plugin: %w", err)
	}
	if err := os.Symlink(program, file); err != nil {
		return nil, fmt.Errorf("place credential plugin: %w", err)
	}
	text, err := yaml.Marshal(kubeletconfig.CredentialProviderConfig{
		TypeMeta: metav1.TypeMeta{Kind: "CredentialProviderConfig", APIVersion: kubeletconfig.SchemeGroupVersion.String()},
		Providers: []kubeletconfig.CredentialProvider{{
			Name: Name, MatchImages: []string{Registry}, DefaultCacheDuration: &metav1.Duration{},
			APIVersion: credentialapi.SchemeGroupVersion.String(), Args: args,
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("configure credential plugin: %w", err)
	}
	if err := os.WriteFile(config, text, 0o644); err != nil {
		return nil, fmt.Errorf("configure credential plugin: %w", err)
	}
	return []string{"--image-credential-provider-config=" + config, "--image-credential-provider-bin-dir=" + dir}, nil
}
