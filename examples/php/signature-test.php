<?php
// Run: php signature-test.php
declare(strict_types=1);

require __DIR__ . '/src/signature.php';

const URL = 'http://127.0.0.1:3000/api/messages/receive';
const BODY = '{"text":"hello"}';
const NOW = 1_800_000_000;
const HS256 = '{"alg":"HS256","typ":"JWT"}';

function signed(string $key, array $claims = [], string $header = HS256): string
{
    $body = base64url(hash('sha256', BODY, true));
    $claims += ['iss' => 'Upstash', 'sub' => URL, 'exp' => NOW + 300, 'nbf' => 0, 'body' => $body];
    $text = base64url($header) . '.' . base64url(json_encode($claims, JSON_UNESCAPED_SLASHES));
    return $text . '.' . base64url(hash_hmac('sha256', $text, $key, true));
}

$rows = [
    'the key' => [signed('sig_a'), BODY, true],
    'another key' => [signed('sig_b'), BODY, false],
    'no key' => [signed(''), BODY, false],
    'another body' => [signed('sig_a'), '{"text":"forged"}', false],
    'another address' => [signed('sig_a', ['sub' => 'http://127.0.0.1:3000/']), BODY, false],
    'another issuer' => [signed('sig_a', ['iss' => 'Nobody']), BODY, false],
    'another algorithm' => [signed('sig_a', [], '{"alg":"none"}'), BODY, false],
    'an old signature' => [signed('sig_a', ['exp' => NOW]), BODY, false],
    'a signature for later' => [signed('sig_a', ['nbf' => NOW + 1]), BODY, false],
    'no signature' => ['', BODY, false],
];
$failures = 0;
foreach ($rows as $fact => [$token, $body, $isValid]) {
    if (is_signed_with('sig_a', $token, URL, $body, NOW) !== $isValid) {
        fwrite(STDERR, "signature: $fact\n");
        $failures++;
    }
}
if (is_signed_with('', signed(''), URL, BODY, NOW)) {
    fwrite(STDERR, "signature: without a key, every signature must be refused\n");
    $failures++;
}
exit($failures === 0 ? 0 : 1);
