/**
 * Two certificates for `localhost` and `127.0.0.1`, each self-signed, that expire in a hundred years: for tests of
 * TLS and of its renewal. They are not trusted elsewhere.
 */
import type { CertificatePair } from "../../src/edge/http/transport.ts";

export const localCertificates: readonly [CertificatePair, CertificatePair] = [
  {
    certificate: `-----BEGIN CERTIFICATE-----
MIIBpzCCAU2gAwIBAgIUQoePTE6Abhk8ZxuwLYFvog8kEr0wCgYIKoZIzj0EAwIw
GjEYMBYGA1UEAwwPbGFyZGVyIHRlc3Qgb25lMCAXDTI2MTEyMjE4NTkzNVoYDzIx
MjYxMDI5MTg1OTM1WjAaMRgwFgYDVQQDDA9sYXJkZXIgdGVzdCBvbmUwWTATBgcq
hkjOPQIBBggqhkjOPQMBBwNCAASwruYf/9n2CuB74dgYmoJHW8CI+pq20IKmU+uK
BvbXQIb+J7drzJl+s3qmPKBwtV2zye+/LA9YD76n4OkG9h4po28wbTAdBgNVHQ4E
FgQUrjDtRk4DHgmagsKbvIzBmXPUR4UwHwYDVR0jBBgwFoAUrjDtRk4DHgmagsKb
vIzBmXPUR4UwDwYDVR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SH
BH8AAAEwCgYIKoZIzj0EAwIDSAAwRQIhAPVl4OBWM/QgiIKzPpcMw8IySg+IwS9E
KbnAkU7qMJLAAiAY+AyGBsOqCS74BZp9ihw+oxTT/8XueAODaZmFB4EKvg==
-----END CERTIFICATE-----
`,
    key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgWtyzbh4D3wqbBDHg
e9NwP9uSdGr+rjcwP8BJu3bPQMyhRANCAASwruYf/9n2CuB74dgYmoJHW8CI+pq2
0IKmU+uKBvbXQIb+J7drzJl+s3qmPKBwtV2zye+/LA9YD76n4OkG9h4p
-----END PRIVATE KEY-----
`,
  },
  {
    certificate: `-----BEGIN CERTIFICATE-----
MIIBqDCCAU2gAwIBAgIUDVITkh4xkPhhZAzgFAPEYYL5ri4wCgYIKoZIzj0EAwIw
GjEYMBYGA1UEAwwPbGFyZGVyIHRlc3QgdHdvMCAXDTI2MTEyMjE4NTkzNVoYDzIx
MjYxMDI5MTg1OTM1WjAaMRgwFgYDVQQDDA9sYXJkZXIgdGVzdCB0d28wWTATBgcq
hkjOPQIBBggqhkjOPQMBBwNCAAQ6xisEmVrDlBHufcfXVrx7DwP/oQpiBrxfPDKN
mIeAMWw2oaldqHAfvYOGf1K2oaFzSCyzqf89JnR2yJS+4ELdo28wbTAdBgNVHQ4E
FgQU/4ERX8ReI/BBhqVoKJ1K3VlY150wHwYDVR0jBBgwFoAU/4ERX8ReI/BBhqVo
KJ1K3VlY150wDwYDVR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SH
BH8AAAEwCgYIKoZIzj0EAwIDSQAwRgIhAP4ZOjArTwIUXohp8Ts0SmibrdvSKYBx
gPS6wAuOI7rsAiEAhlK/GsUeegh2S4b74mGasIKI2ZD2DNqg4XeE3z7JahE=
-----END CERTIFICATE-----
`,
    key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgFngtk62iHTnIYwQ3
rj7WHs97/j4CRQnqX9f0hVtESaWhRANCAAQ6xisEmVrDlBHufcfXVrx7DwP/oQpi
BrxfPDKNmIeAMWw2oaldqHAfvYOGf1K2oaFzSCyzqf89JnR2yJS+4ELd
-----END PRIVATE KEY-----
`,
  },
];
