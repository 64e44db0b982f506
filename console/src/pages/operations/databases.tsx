import { Tenants } from "./tenants.tsx";

export default function Databases() {
  return <Tenants kind="databases" />;
}
