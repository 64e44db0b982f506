<?php
// The header Upstash-Signature of a delivery, a JSON Web Token.
declare(strict_types=1);

/** Whether larder has signed a request to an address. After a rotation, the next key is the current one. */
function is_signed(string $token, string $url, string $body): bool
{
    foreach (['QSTASH_CURRENT_SIGNING_KEY', 'QSTASH_NEXT_SIGNING_KEY'] as $name) {
        if (is_signed_with((string) getenv($name), $token, $url, $body, time())) {
            return true;
        }
    }
    return false;
}

function is_signed_with(string $key, string $token, string $url, string $body, int $now): bool
{
    $parts = explode('.', $token);
    if ($key === '' || count($parts) !== 3) {
        return false;
    }
    [$header, $claims, $signature] = $parts;
    $expected = base64url(hash_hmac('sha256', "$header.$claims", $key, true));
    if ((decoded($header)['alg'] ?? '') !== 'HS256' || !hash_equals($expected, $signature)) {
        return false;
    }
    $claims = decoded($claims);
    return ($claims['iss'] ?? '') === 'Upstash'
        && ($claims['sub'] ?? '') === $url
        && ($claims['nbf'] ?? PHP_INT_MAX) <= $now
        && ($claims['exp'] ?? 0) > $now
        && rtrim($claims['body'] ?? '', '=') === base64url(hash('sha256', $body, true));
}

/** The object in a part of a token, or an empty one. */
function decoded(string $part): array
{
    $value = json_decode((string) base64_decode(strtr($part, '-_', '+/'), true), true);
    return is_array($value) ? $value : [];
}

function base64url(string $bytes): string
{
    return rtrim(strtr(base64_encode($bytes), '+/', '-_'), '=');
}
