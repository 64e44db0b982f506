package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"time"
)

// The keys that larder signs deliveries with: after a rotation, the next one is the current one.
type signingKeys struct{ current, next string }

type claims struct {
	Issuer    string `json:"iss"`
	Subject   string `json:"sub"`
	Expires   int64  `json:"exp"`
	NotBefore int64  `json:"nbf"`
	Body      string `json:"body"`
}

func keysFromEnvironment() signingKeys {
	return signingKeys{os.Getenv("QSTASH_CURRENT_SIGNING_KEY"), os.Getenv("QSTASH_NEXT_SIGNING_KEY")}
}

// verify checks the header Upstash-Signature, a JSON Web Token, of a request to an address.
func (keys signingKeys) verify(token, url string, body []byte) error {
	if err := verifyWith(keys.current, token, url, body, time.Now()); err == nil {
		return nil
	}
	return verifyWith(keys.next, token, url, body, time.Now())
}

func verifyWith(key, token, url string, body []byte, now time.Time) error {
	parts := strings.Split(token, ".")
	if key == "" || len(parts) != 3 {
		return errors.New("the signature is missing or not a token")
	}
	var header struct{ Alg string }
	if err := decode(parts[0], &header); err != nil || header.Alg != "HS256" {
		return errors.New("the algorithm of the signature must be HS256")
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(parts[0] + "." + parts[1]))
	given, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !hmac.Equal(given, mac.Sum(nil)) {
		return errors.New("the signature is not valid")
	}
	var claims claims
	if err := decode(parts[1], &claims); err != nil {
		return errors.New("the claims of the signature are not JSON")
	}
	digest := sha256.Sum256(body)
	switch {
	case claims.Issuer != "Upstash":
		return errors.New("the issuer of the signature is not valid")
	case claims.Subject != url:
		return errors.New("the signature is for another address")
	case now.Unix() >= claims.Expires || now.Unix() < claims.NotBefore:
		return errors.New("the signature is not valid at this time")
	case strings.TrimRight(claims.Body, "=") != base64.RawURLEncoding.EncodeToString(digest[:]):
		return errors.New("the signature is for another body")
	}
	return nil
}

func decode(part string, value any) error {
	text, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, value)
}
