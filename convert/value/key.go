package value

import (
	"crypto/tls"
	"errors"
	"strings"

	"golang.org/x/crypto/ssh"
)

// IsPEM reports whether s is PEM text (RFC 7468) and not the path of a file.
func IsPEM(s string) bool { return strings.Contains(s, "-----BEGIN ") }

// PrivateKey reads the private key of an SSH login: PEM, or PEM in base64. It
// returns the PEM text, and whether the key needs a passphrase; ok is false
// for what is no key that OpenSSH's readers take.
func PrivateKey(s string) (pem string, encrypted, ok bool) {
	if !IsPEM(s) {
		if s, ok = Base64Text(s); !ok {
			return "", false, false
		}
	}
	_, err := ssh.ParseRawPrivateKey([]byte(s))
	_, encrypted = errors.AsType[*ssh.PassphraseMissingError](err)
	return s, encrypted, err == nil || encrypted
}

// HostKey reports whether a line is a public key as OpenSSH writes it,
// "algorithm base64".
func HostKey(line string) bool {
	_, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
	return err == nil
}

// CertificatePair reports whether a client certificate and its key, where both
// are PEM, belong together.
func CertificatePair(certificate, key string) bool {
	if !IsPEM(certificate) || !IsPEM(key) {
		return true // paths; only the client can look
	}
	_, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	return err == nil
}
