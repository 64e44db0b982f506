/**
 * Every stemmer against Snowball's own. The pairs are what its `stemwords` 2.2 prints for words with different endings; the
 * proof compares all words of its vocabularies, if Debian's package `snowball-data` is installed.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { isProof } from "../../../../test/budget.ts";
import { missingProgram, SNOWBALL_DATA } from "../../../../test/harness/required-programs.ts";
import { languages } from "../definition.ts";
import { stemmerOf } from "./stemmers.ts";

/** By language: words with their stems. English has its own in `kernel/text/porter2.test.ts`. */
const pairsByLanguage = {
  arabic: [
    "استجمام=استجمام استهلالي=استهلال اشبعا=اشبع اخثروا=اخثر ابعثن=ابعث اسلقنا=اسلق استعصمت=استعصم ابتعثتا=ابتعث",
    "استصلحتن=استصلح ابتهالها=ابتهال ابتهالهم=ابتهال اتقادك=اتقاد ابنهن=ابن احتجازه=احتجاز ابتليتما=ابتلي",
    "اتهاماته=اتهاما اتفقتم=اتفق اتصالاهم=اتصال اتكاءكم=اتكاء استعدادكن=استعداد ابتكراها=ابتكر استقبحتها=استقبح",
    "احتجزني=احتجز ابحثهما=ابحث ابرحوها=ابرح ابتعاه=ابتع اجتثتهن=اجتث استعادانا=استعاد اتجاهاتك=اتجاها",
    "استثماراتكم=استثمارا احتجزتكما=احتجز ابتعاثكما=ابتعاث استحدثنه=استحدث استنسخونا=استنسخ ابسطاني=ابسط",
    "اجعلوهم=اجعل اجتذباكن=اجتذب ابتزازياهن=ابتزازي استعداديتهما=استعدادي احضنها=احض استرعياكم=استرعي",
    "استعاريتكن=استعاري اثبتهم=اثب احتللنني=احتلل استلوني=استل اجذبوه=اجذب اتصالينا=اتصال اجتماعيهما=اجتماع",
    "اختلاجتيهن=اختلاجت احتكراهما=احتكر استردتنا=استرد احتجتني=احتج استراليتين=استراليت ابتغيه=ابتغ اجتثتاه=اجتث",
    "ابجسنهما=ابجس ابضعوهن=ابضع اتفاقيتيهم=اتفاقيت استكشافيان=استكشافي ابتذلتاك=ابتذل ارتادتاكم=ارتاد",
    "ابتلتاها=ابتل اجتحنهم=اجتح اجتزوهما=اجتز اثوى=اثوي احتلتاهم=احتل اجترتاهن=اجتر استبقيتمونا=استبقي",
    "اختطفتنه=اختطف احتملننا=احتمل ابعثنهن=ابعث اتخذاك=اتخذ اختبرتانا=اختبر ازدريتماها=ازدري اتخذتماهن=اتخذ",
    "ادعيتموني=ادعي ابتلعتموها=ابتلع استخرتنها=استخر احترمتنهن=احترم استبقناها=استبق احتووكما=احتو اتركيها=اترك",
    "اجتثتاني=اجتث احتسبتمانا=احتسب استدمناك=استدم اجتزوكم=اجتز ادخارية=ادخار استجوابيك=استجواب اذرئي=اذرء",
    "اختطفاكما=اختطف اجتذبتاكن=اجتذب اختطتماه=اختط ابتعتماهما=ابتع ازددتموهم=ازدد استجوبتننا=استجوب",
    "استبقيتنني=استبقي استجوبناكم=استجوب استحدثناهما=استحدث استتبعنكم=استتبع اجتنبنكن=اجتنب",
  ],
  danish: [
    "resjef=resjef udregne=udregn skorpioner=skorpion aftalen=aftal simons=simon afgrødeoffret=afgrødeoffr",
    "afkortes=afkort aramæerne=aramæ dorskt=dorsk basunens=basun blomsterbægrene=blomsterbægr eliternes=elit",
    "fodsålers=fodsål bagtalelse=bagtal frydeskrig=frydeskr arbejdere=arbejd brøstfældige=brøstfæld",
    "betragte=betrag berusende=berus alderen=ald ladhed=lad lytter=lyt gypterhavets=gypterhav kortelig=kort",
    "kødelige=kød lakker=lak inderlige=inder fornemme=fornem endeligt=end forkyndelsen=forkynd",
    "handelsfolkenes=handelsfolk mægtigt=mægt stenbukke=stenbuk lønlig=løn uroligt=uro krummer=krum fandtes=fand",
    "splittet=split stukket=stuk natten=nat kulbækken=kulbæk kongemoderens=kongemod rigdommen=rigdom uenighed=uen",
    "sammenrulle=sammenrul vandhuller=vandhul menneskemængde=menneskemæng nydelser=nyd ligge=lig nedhugger=nedhug",
    "tæppe=tæp tømmes=tøm cypresbrædder=cypresbræd ildoffer=ildof jakobsønner=jakobsøn miskundheds=miskund",
    "vækkes=væk utæmmet=utæm hyllet=hyl solamgræshopper=solamgræshop tempelvielsens=tempelvi synderes=synd",
    "misperet=misp troløsheden=troløs barnagtige=barnag broderkærlighed=broderkær aftørre=aftør uvisse=uvis",
    "skitterne=skit enliges=enl unyttig=unyt forhallen=forhal skilles=skil læsset=læs bakkerne=bak svømmende=svøm",
    "kunne=kun græshoppen=græshop opirrer=opir kapersbærret=kapersbær bortryddet=bortryd hjemsøgelses=hjemsøg",
    "tveægget=tveæg retfærdigheds=retfærd rigdommens=rigdom nilbredden=nilbred uforkrænkelighed=uforkrænk",
    "profeterede=profet bebygges=bebyg uretfærdigheden=uretfærd undsluppet=undslup masser=mas saligere=sal",
    "afefterkommerne=afefterkom forjættelse=forjæt spottende=spot hørendes=hør skyldofferet=skyldof",
    "ihukommelse=ihukom rettighed=ret",
  ],
  dutch: [
    "wijting=wijting actieschepen=actieschep eenzelfde=eenzelfd vervangers=vervanger aantekening=aanteken",
    "achterliggende=achterligg afkortingen=afkort verpletterend=verpletter beverig=bever driedelige=driedel",
    "mestprobleem=mestproblem afdekken=afdek minachtte=minacht balanstotaal=balanstotal afgestaan=afgestan",
    "carbonaat=carbonat mannelijkheid=mannelijk aralmeer=aralmer brabantse=brabant commentaar=commentar",
    "aanmerkelijk=aanmerk daarheen=daarhen condensatietemperatuur=condensatietemperatur melodieën=melodieen",
    "ruimtevaartuigen=ruimtevaartu boos=bos eiwitten=eiwit gestaag=gestag gebruikersvriendelijke=gebruikersvriend",
    "afstandgevoeligheid=afstandgevoel kwikvergiftiging=kwikvergift creosoot=creosot daad=dad aanspraak=aansprak",
    "makelaars=makelar onvoorspelbaar=onvoorspel beheersbare=beheers hillegommerbeek=hillegommerbek",
    "evenveel=evenvel denneboom=dennebom meisjeslichaam=meisjeslicham binnengleed=binnengled",
    "bestrijdings=bestrijd beloop=belop voedde=voed hoogstwaarschijnlijk=hoogstwaarschijn hoor=hor bewoog=bewog",
    "burgerschool=burgerschol loon=lon siberië=siberie mogelijkheden=mogelijk aanhankelijkheid=aanhank",
    "onttrekking=onttrek zwavelopslagplaats=zwavelopslagplat voetbedden=voetbed moederlijke=moeder",
    "nunspeet=nunspet raté=rat aanbood=aanbod opvatting=opvat thees=thes leef=lef verkrijgbaarheid=verkrijg",
    "gespletene=gesplet bedrijfsvestigingen=bedrijfsvest vervoersmogelijkheden=vervoersmog oprukkende=opruk",
    "melkverpakkingen=melkverpak dwaas=dwas hopeloosheid=hopelos exponentiële=exponentiel eenzelvigheden=eenzelv",
    "winstgevendheid=winstgev parkeergelegenheid=parkeergeleg institituut=instititut flushparagraaf=flushparagraf",
    "zuidafrikaanse=zuidafrikan oudheden=oudheid onregelmatigs=onregelmat fatsoenlijkheid=fatsoen stoof=stof",
    "alsook=alsok oorveeg=oorveg uitvoerenden=uitvoer sleep=slep bedachtzaamheid=bedachtzam",
    "verjeugdigend=verjeugd boycottende=boycot houdbaarheid=houdbar mée=mee subsidiëren=subsidier spaans=span",
    "liefhebbends=liefhebb composteerbare=composter luchtverontreinigende=luchtverontrein betrekkelijk=betrek",
    "zenuwsnikkend=zenuwsnik terugstootte=terugstot oneens=onen",
  ],
  finnish: [
    "herpaantui=herpaantui aatolainen=aatolain aaltion=aaltio adelbodenin=adelboden inada=inad",
    "ikaalislaisia=ikaalislais hapuli=hapul esikoiskirjan=esikoiskirj aavistanut=aavistanu castle=castl",
    "aamuista=aamu esittääkseen=esittääks aatteetovat=aatteetov groznyiin=grozny ahdistavien=ahdistav",
    "aamulenkille=aamulenk hyppäämä=hyppääm alamäkiä=alamäk alakantissa=alakant hiilihydraatit=hiilihydraat",
    "aavistamatta=aavistamat bensaa=bens alamaailmaan=alamaailm aaltosta=aalto",
    "eteläeurooppalaiset=eteläeurooppalais asentaneet=asentan alppihiihdossa=alppihiihdo",
    "asiantuntijasta=asiantuntij alijäämää=alijääm avauspäivän=avauspäiv ainutlaatuisessa=ainutlaatuis",
    "ainutkertaisesta=ainutkertais apuja=apu elelevät=elelev anomalla=anom horkassa=hork aineilla=aine",
    "alkuvuosi=alkuvuo alkukuukausina=alkukuukaus aivotoimintojen=aivotoiminto",
    "ammattikorkeakoululla=ammattikorkeakoulu ehtinyttä=ehtinyt enteilemään=enteilem arvioitavaksi=arvioitav",
    "ajattelutavalle=ajattelutav ammattilaiselle=ammattilais ajankohtaisiksi=ajankohtais hengellisistä=hengellis",
    "alkupalkka=alkupalk ammattikorkeakoululle=ammattikorkeakoulu alenna=alen ikuistettiin=ikuistet astelee=astel",
    "alaiseksi=alais avustuksena=avustuks aamukymmenestä=aamukymmen arkipäiväisissä=arkipäiväis",
    "alkoholilaista=alkoholil astiaansa=astia alentuneiden=alentun asuinkortteleita=asuinkorttel",
    "allekirjoituksella=allekirjoituks ajatukselta=ajatuks asuinalueita=asuinalue antakoon=antako",
    "ammateista=ammat arkkitehteja=arkkiteht aloitteisesti=aloitteis ansioiden=ansio asuntoloihin=asuntolo",
    "enqvistillä=enqvist aikakausilta=aikakaus avotulta=avotu atlantti=atlant aseistettu=aseistetu",
    "ajattelijana=ajattelij ennakkoluulottomasti=ennakkoluulottom edistämisellä=edistämis",
    "ennustajaeukko=ennustajaeuko faniensa=fanie asennuttaa=asennut haurastuu=haurastu ikävällä=ikäv",
    "armeijalta=armeij haarukkaa=haaruk demokratiaksi=demokratia aurinkokunnan=aurinkokun asuntoni=asunto",
    "aluenäyttelyssä=aluenäyttely erästä=erä asutaan=asu hajottua=hajotu emuun=emu avajaispäivänä=avajaispäiv",
    "heikkenemässä=heikkenem esineille=esin hallintotieteitä=hallintotiet aseensa=ase",
    "esimerkillisenä=esimerkillis entisessä=entis",
  ],
  french: [
    "total=total vilaine=vilain adroites=adroit bourguignons=bourguignon affairé=affair hier=hi",
    "apparaissait=apparaiss adoptée=adopt angelica=angelic ameutant=ameut balancement=balanc chevalerie=chevaler",
    "aresi=ares accoutumées=accoutum articulés=articul battez=batt brillaient=brill discutèrent=discut",
    "compromettrais=compromettr apaisera=apais ensuivit=ensuiv cessation=cessat détermination=détermin",
    "adversité=advers blanchies=blanch engourdis=engourd californienne=californien indubitable=indubit",
    "verras=verr déroberait=dérob manufacturiers=manufacturi louiez=lou ablutions=ablut apocalyptique=apocalypt",
    "démolir=démol corneille=corneil frère=frer enverrai=enverr brûlante=brûl lieutenants=lieuten jouerai=jou",
    "gazette=gazet comptât=compt protestations=protest délicieuse=délici reproduisirent=reproduis ajouterez=ajout",
    "couteaux=couteau frontière=fronti paresseux=paress auxquelles=auxquel vêtements=vêt médisance=médis",
    "humiliantes=humili moquerais=moqu exprimeront=exprim négligence=négligent fantastiques=fantast",
    "accomplissait=accompl fameuse=fameux panthères=panther déplorables=déplor réunissant=réun siennes=sien",
    "généraux=général outrageait=outrag alouettes=alouet quatrième=quatriem accableraient=accabl",
    "laborieusement=labori afflictive=afflict précisément=précis dégagea=dégag trahira=trah fronçait=fronc",
    "grossières=grossi jacobinisme=jacobin nationalités=national ponctuellement=ponctuel perfectionner=perfection",
    "henné=hen sérieuses=sérieux décès=déces nourrirait=nourr tutoyait=tutoi retrouverons=retrouv",
    "douloureuses=doulour convulsif=convuls établissement=établ appuyant=appui lipoïque=lipo chargeant=charg",
    "employer=emploi examinateur=examin empoisonnait=empoison aliène=alien désespérer=désesper",
    "favorablement=favor décemment=décent enfonça=enfonc",
  ],
  german: [
    "ausgewandert=ausgewandert abgeschnitten=abgeschnitt neutrale=neutral aimer=aim braunkariertes=braunkariert",
    "wiederentdeckung=wiederentdeck mikrofons=mikrofon aufzuheitern=aufzuheit dickem=dick eingelassenen=eingelass",
    "eigens=eig gesinnungen=gesinn anzuwenden=anzuw unlustigen=unlust aufgeworfene=aufgeworf",
    "dorfvorstehers=dorfvorsteh gewissensangst=gewissensang ausbrechend=ausbrech beschweren=beschw",
    "entbehrlich=entbehr bestechende=bestech kategorischen=kategor enthaltsamkeit=enthaltsam geduldig=geduld",
    "einfenstrige=einfenstr kosmologische=kosmolog entschloß=entschloss karriere=karri einfachsten=einfach",
    "dasaßen=dasass ungelegener=ungeleg beigegebenes=beigegeb unbefangenheit=unbefang sahest=sah",
    "leutseligkeit=leutsel evangelisch=evangel ansehnliche=ansehn augenblicklichen=augenblick einfachste=einfach",
    "schmeißt=schmeisst einmaliger=einmal unheiliges=unheil reichlicheres=reichlich allgemeinheit=allgemein",
    "totalität=totalitat ungeschicklichkeit=ungeschick vorsitzender=vorsitz samenreste=samenr",
    "schmerzhaftesten=schmerzhaft engerer=eng unbeschreiblicher=unbeschreib zuführt=zufuhrt sympathischer=sympath",
    "unziemliches=unziem auszudrücken=auszudruck auszuführen=auszufuhr berechtigung=berecht akustik=akust",
    "geglückt=gegluckt verfügen=verfug erfahrungsgegenstände=erfahrungsgegenstand widerstehendes=widersteh",
    "glaubenserkenntnisse=glaubenserkenntnis auszüge=auszug sängen=sang sympathiestränge=sympathiestrang",
    "abhängt=abhangt tücke=tuck ghört=ghort sicherlich=sich unsauberkeiten=unsauber ausließe=ausliess bünde=bund",
    "gewissensgründen=gewissensgrund nüsse=nuss verfügt=verfugt gebührte=gebuhrt stubentür=stubentur",
    "erträgt=ertragt sässe=sass zweckmässig=zweckmass abhören=abhor kleidungsstück=kleidungsstuck",
    "milchbäume=milchbaum kaiserlichen=kais zöpfe=zopf bescheidenem=bescheid mutwilligsten=mutwill",
    "elastisches=elast kleinster=klein fläche=flach abwärts=abwart auffassungsvermögen=auffassungsvermog",
    "schlüssen=schluss ereignissen=ereignis dienstes=dien verstandeskräfte=verstandeskraft gewährt=gewahrt",
    "ausräumen=ausraum herüber=herub",
  ],
  greek: [
    "αειθαλή=αειθαλ απολογητές=απολογητ αιμολυτικό=αιμολυτ ακριτών=ακριτ αρχισχεδιαστής=αρχισχεδιαστ χρονικά=χρον",
    "αναγγελθεί=αναγγελθ αδικία=αδικ αλληγορικών=αλληγορ αγαθό=αγαθ ακταιωρός=ακταιωρ αειθαλούς=αειθαλ",
    "ακτινοθεραπείας=ακτινοθεραπει αντιπερισπασμού=αντιπερισπασμ ανεκτά=ανεκτ αληθινοί=αληθιν",
    "αναθεωρημένη=αναθεωρημεν ανδρικού=ανδρ ακούν=ακ αποκομμένα=αποκομμεν απαλλασσόταν=απαλλασσ αιθ=αιθ",
    "αισθητηρίου=αισθητηρ αναμεμειγμένο=αναμεμειγμεν αδελφοποιημένος=αδελφοποιημεν φιλοδοξίες=φιλοδοξι",
    "αποκτημάτων=αποκτημ αμοιβαία=αμοιβαι αποδεκατισμό=αποδεκατ αυθαιρεσιών=αυθαιρεσ",
    "προγραμματισμένοι=προγραμματισμεν προσωπικότητα=προσωπικοτητ βελτιωμένες=βελτιωμεν αποκολλήθηκε=αποκολλ",
    "αναθεωρήσει=αναθεωρ αδρανοποιηθεί=αδρανοποι ομορφιά=ομορφ αποχαιρετισμός=αποχαιρετ αμφισβητήθηκαν=αμφισβητ",
    "απαγχονισμού=απαγχον αποδοτικότητας=αποδοτικοτητ γνωστοποιήσουν=γνωστοποι αρνείται=αρνειτα βορανίων=βοραν",
    "απειλώντας=απειλ αποβιώσει=αποβιωσ βαθιάς=βαθι πιονιού=πιον αραιώσεις=αραιωσ βραβευμένων=βραβευμεν",
    "ασφαλίζει=ασφαλ εναρμονίζονται=εναρμονιζ αγγείο=αγγει ανακαινίστηκαν=ανακαινιστ αποικίστηκε=αποικιστ",
    "αβαθείς=αβαθ μακρότερη=μακρ πνευματικώς=πνευματικωσ διεφθαρμένους=διεφθαρμεν αναζητήσεων=αναζητησ",
    "αποστραγγίζεται=αποστραγγιζ γινόμενη=γινομεν βάζει=βαζ διμεθυλοπεντάνιο=διμεθυλοπεντανι",
    "αποδοκιμάστηκε=αποδοκιμαστ ερωτήματος=ερωτημ ασπίδα=ασπιδ λεωφορείων=λεωφορει εκσυγχρονιστής=εκσυγχρον",
    "δολοφονούνται=δολοφον αντιπαθούσε=αντιπαθ κολακεύει=κολακευ ανακοινώνει=ανακοινων αξιώνουν=αξιων",
    "κουτάκι=κουτ γενικευμένης=γενικευμεν δεδομένου=δεδομεν γεννήσεις=γεννησ σπαθί=σπαθ διευκρινίζουν=διευκριν",
    "κινησιολογία=κινησιολο αμφισβητούσαν=αμφισβητ ενδεχόμενο=ενδεχομεν δυσκολεύοντας=δυσκολευ διχάζονται=διχαζ",
    "κλίνει=κλιν χλωρίνη=χλωριν παθαίνουν=παθαιν εφετείου=εφετει γευματίσει=γευματ εμποδίσουν=εμποδ",
    "εισπνεόμενα=εισπνεομεν αγριότητά=αγριοτητ αντικρούεται=αντικρου ανυψώνεται=ανυψων ενημερώσουν=ενημερωσ",
    "μαχαλάδες=μαχαλαδ απορροφάει=απορροφ ανακατασκευάσει=ανακατασκευασ αμαρτήματα=αμαρτημ",
  ],
  hungarian: [
    "növényhatározó=növényhatározó agyontechnologizált=agyontechnologizál baráti=barát akadva=akadv",
    "alaprendszerek=alaprendszer megkezdése=megkezdés kiegyensúlyozhatnák=kiegyensúlyozhatna aláírhatja=aláírhat",
    "befizetnünk=befizetn alakítottak=alakított alaptevékenységnek=alaptevékenység agresszorok=agresszor",
    "addigsem=addigs mozdulatát=mozdulat bekapcsolódtunk=bekapcsolódt képezték=képezte adásra=adás",
    "jóvátegyen=jóvátegy ablakkeret=ablakker meglepik=meglep apportnak=apport adatelemzésre=adatelemzés",
    "bevezetők=bevezető borzalom=borzal ajtófélfának=ajtófélf adatfolyam=adatfoly anyaországban=anyaország",
    "asszonyokat=asszony megfékezését=megfékezés adóbevételeket=adóbevétel borházat=borház",
    "becsületesebben=becsületeseb akcióhoz=akció adásvételével=adásvétel beszélírba=beszélír buszból=busz",
    "aszon=asz bevonására=bevonás kibéreltük=kibérelt akarattalan=akarattal bosszúságot=bosszúság bőrről=bőr",
    "bedobáltuk=bedobált beválasztásáról=beválasztás bujdosásával=bujdosás kiépítettségében=kiépítettség",
    "jegyzőkönyvének=jegyzőkönyv annál=an kapcsolatról=kapcsolat kutyatenyésztéssel=kutyatenyésztés",
    "alapszabályában=alapszabály kérelméhez=kérelm beépítésére=beépítés biztonságtechnológiai=biztonságtechnológi",
    "jövőbe=jövő bevételekkel=bevétel jóváhagynia=jóváhagyn kapcsoljuk=kapcsol kollégáját=kollégá",
    "kilogramm=kilogram akváriumokkal=akvárium adóssal=adós ajánlatához=ajánlat adtán=adt börtönből=börtön",
    "bevételhez=bevétel követnie=követn kiszolgálócsaládjának=kiszolgálócsalád látnivalókat=látnivaló",
    "alkönyvtárként=alkönyvtár kinn=kin mától=má kevésbé=kevésb kiáltványait=kiáltvány legényei=legény",
    "bekezdéseit=bekezdés költenek=költ kilencig=kilenc annyit=anny képviselője=képviselő",
    "megjelenítjük=megjelenít luxusingatlanoknak=luxusingatlan kantonokra=kanton kísértettől=kísértet",
    "bizonytalanul=bizonytalan alkoholistákat=alkoholista munkaerőért=munkaerő minősítéséről=minősítés",
    "legbelül=legbel kisebbeknek=kisebb akcióval=akció adatstruktúrába=adatstruktúr bérekre=bér lépésnél=lépés",
    "kezén=kez meghatározná=meghatározna megfogalmazásából=megfogalmazás asztgondolám=asztgondola",
    "megbízzanak=megbízz kezd=kez",
  ],
  italian: [
    "massicci=massicc acquisizione=acquisizion aver=aver groppino=groppin materassa=materass affacendato=affacend",
    "abbassare=abbass armadio=armad sguaiata=sguai arbitraria=arbitrar asciugate=asciug accomodati=accomod",
    "affrettava=affrett trattano=tratt accomodando=accomod annodò=annod arrestar=arrest attaccarsi=attacc",
    "carattere=caratt venerazione=vener concorrendo=concorr viveva=viv giravano=gir diplomatica=diplomat",
    "bestemmie=bestemm definito=defin ansietà=ansiet aeronautico=aeronaut civilità=civil agitarlo=agit",
    "consistevano=consist branchi=branc diminuire=diminu dormita=dorm corrispondenza=corrispondent",
    "bruttamente=brutt arruolamento=arruol dimodoche=dimodoc debbono=debb concordiamo=concord",
    "elettrimmobiliare=elettrimmobil attorniato=attorn convenevolmente=convenevol bernabè=bernab",
    "scostandosi=scost abilitante=abilit colluttazioni=collutt depositerà=deposit inferriate=inferr",
    "pronostici=pronost bastimento=bast conseguiti=consegu complessiva=compless inviolabile=inviol abitanti=abit",
    "attentasse=attent situerebbe=situ esimersi=esim machete=mach partigiano=partig annunciata=annunc",
    "annunciati=annunc geografiche=geograf guarisce=guar comunismo=comun regionalista=regional direttivo=dirett",
    "espropriò=espropr immaginosa=immagin dolorosi=dolor caduta=cad mondovì=mondov incantarla=incant",
    "scusarne=scus guardarono=guard illustreranno=illustr prescriverò=prescriv cominciava=cominc cerniere=cern",
    "servir=serv ottimisti=ottim avvertite=avvert strepitoso=strepit pennuto=penn lavoratori=lavor",
    "predicatore=predic escluderlo=esclud regolamenti=regol sicuti=sic aspettarli=aspett cacciando=cacc",
    "strillassero=strill cavarvi=cav perdute=perd maggioranza=maggior viaggiar=viagg retributivi=retribut",
    "occorrenze=occorrent ronzarle=ronz avvertimenti=avvert",
  ],
  norwegian: [
    "ettermiddag=ettermiddag pekefinger=pekefing ødelagte=ødelagt arealdelplanen=arealdelplan",
    "andelseigarforholdet=andelseigarforhold alderssamansetjinga=alderssamansetjing",
    "barndomstraktene=barndomstrakt verdiar=verdi flytende=flyt attestert=attester avvikles=avvikl rettast=rett",
    "anløpsfrekvens=anløpsfrekv børs=bør eigarane=eigar kompliserte=kompliser forråtnelse=forråtn",
    "forretningsmessig=forretningsmess arveavgiftsmessige=arveavgiftsmess overdragande=overdrag betingede=beting",
    "følgelig=følg områdets=områd fiendtlig=fiendt skikkelsen=skikk skattelettelser=skattelett kirkenes=kirk",
    "forutsigbarhet=forutsigbar personleg=person dårlige=dår selskapers=selskap saklege=sak ærbødighet=ærbød",
    "alminnelige=alminn veritas=verit kjededannelsene=kjededann verkeleg=verk eigarseksjonslova=eigarseksjon",
    "trafikktettheten=trafikktett borettsloven=borett transportvirksomheter=transportvirksom",
    "forutseielege=forutsei skiftelova=skift tilsynsmyndigheten=tilsynsmynd rimelighet=rim arveloven=arv",
    "stridigheter=strid eineeige=eine medeigar=med fripoliserettighetene=fripoliserett",
    "eigarseksjonslov=eigarseksjon hvorledes=hvorl grunnlova=grunn sameiga=sam fortrolighet=fortro",
    "kapasitetsmuligheter=kapasitetsmu seksjonssameiger=seksjonssam samvirkelov=samvirk kommunelovens=kommun",
    "fradragsberettigede=fradragsberett hemmeligheten=hemm kostbarhetene=kostbar kjempediger=kjemped",
    "skattebegunstiget=skattebegunst stiftelseslovens=stiftelse vedkommendes=vedkomm gjestfrihetens=gjestfri",
    "boligen=bol regnskapspliktiges=regnskapsplikt sannsynligheten=sannsyn verdipapirfondloven=verdipapirfond",
    "borettslovene=borett hemmeligheter=hemm innsigelses=innsig allmannyttiga=allmannytt",
    "pensjonsberettigedes=pensjonsberett myndighetenes=mynd ansvarliges=ansvar boliglov=bolig gullveig=gullv",
    "sjølveigande=sjølv seksjonssameigene=seksjonssam bestemmelsens=bestemm nedstigande=nedst viktigast=vikt",
    "boligene=bol muligens=mul tidlegast=tid valgmulighetene=valgmu bustadlovene=bustad",
    "folketrygdlovens=folketrygd boliglover=bolig voldtas=vold fratrådtes=fratråd",
  ],
  portuguese: [
    "abouch=abouch arromba=arromb pago=pag rondoniense=rondoniens sinos=sin falsas=fals intervenções=intervençõ",
    "arvorar=arvor paralisia=paralis angustiada=angusti abrigou=abrig acompanhado=acompanh separando=separ",
    "alimentam=aliment arrependi=arrepend aprender=aprend espantadas=espant acusação=acus bagagem=bagag",
    "acompanhava=acompanh afastados=afast brotaram=brot decididamente=decidid america=amer acometido=acomet",
    "atrair=atra esportista=esport editais=edit calórico=calór convida=conv desfalcavam=desfalc",
    "acomodações=acomod abaixei=abaix aconteceram=acontec cheias=che definidas=defin aprendeu=aprend",
    "brasileirismo=brasileir autorizá=autoriz apaziguador=apazigu aproveitamos=aproveit corrompendo=corromp",
    "exerciam=exerc arqueológicos=arqueológ animosidade=animos comprimidos=comprim localmente=local",
    "diferença=diferenc adolescência=adolescent domésticas=domést estadistas=estad perigoso=perig",
    "entregadores=entreg fabricante=fabric esfoliantes=esfoli duraria=dur apresentará=apresent afetasse=afet",
    "emergindo=emerg gantois=ganto confundiu=confund taxativa=taxat cansativo=cansat abominável=abomin",
    "reveladora=revel compartilhamento=compartilh araraquara=araraqu musculares=muscul acontecera=acontec",
    "fortalecimento=fortalec reabriram=reabr horrorosa=horror cansaço=cansac macalé=macal caratê=carat",
    "fósseis=fóss forças=forc abomináveis=abomin mexeria=mex quebrarem=quebr resolvemos=resolv",
    "intensidades=intens sucessivos=sucess orgulhosos=orgulh variadíssimos=variadíss impusesse=impus",
    "dissidências=dissident ideologicamente=ideolog sucessivas=sucess torpedear=torped combustível=combust",
    "acabassem=acab decentemente=decent traços=trac relampeado=relamp absolverem=absolv religiosas=religi",
    "embriague=embriag baterá=bat impedância=imped",
  ],
  romanian: [
    "aţi=aţi alamă=alam altiţe=altiţ abateri=abater ţuica=ţuic biroul=biro pasiunii=pasiun adâncea=adânc",
    "anunţat=anunţ cauciucurile=cauciucur anulată=anul buzele=buz cancerului=cancer concentrare=concentr",
    "ghicesc=ghic căptuşit=căptuş nebunia=nebun contextualizate=contextualiz farmacie=farmac chemaţi=chem",
    "plasează=plas apolinică=apolin glumim=glum chinezeşte=chinez ceasornic=ceasorn purtăm=purt gândească=gând",
    "cifrelor=cifr completarea=complet declanşeze=declanş verifice=verif nelegiuirea=nelegiu fatalitatea=fatal",
    "cădem=căd aşternerea=aştern colegilor=coleg neizbutind=neizbut devenite=deven afurisită=afuris",
    "interpretând=interpret încheiam=închei priveau=priv pierdere=pierd despăgubire=despăgub enormitate=enorm",
    "găsiţi=găs bugetară=buget împrumutase=împrumut iertau=iert aglomeraţie=aglomer intonaţii=inton",
    "începeam=încep antrenez=antren siluieşti=silui lopeţi=lop geometriei=geometr infamiile=infam",
    "respectuos=respectu coloratură=colorat remarcându=remarc fiecărui=fiecăr pedepse=pedep stabilităţii=stabil",
    "intelectualism=intelectualist diatonismul=diatonist insuportabilă=insuport corespunzătoare=corespunz",
    "insuportabil=insuport trepidaţia=trepid rătăcise=rătăc inofensivă=inofens binecrescut=binecresc",
    "sonorităţi=sonor distinctiv=distinct muritor=murit copilăroasă=copilăr meniul=men întrebător=întreb",
    "consultant=consult folositoare=folos inchizitor=inchiz scobitoare=scobit soluţiune=solut fotoliilor=fotol",
    "organismului=organist perturbaţiuni=perturbat francezi=franc republica=republ curagios=curag nisipoase=nisip",
    "incomunicabile=incomunic mobilasem=mobil aparatul=apar conţinute=conţin obiecţiunea=obiect",
    "neîndemânatici=neîndemânat repezindu=repez minţisem=minţ propagator=propag conspiraţiei=conspir",
  ],
  russian: [
    "артист=артист аптека=аптек эти=эт андрюше=андрюш испорчу=испорч ахнуть=ахнут благородная=благородн",
    "независимо=независим папенькой=папеньк атласном=атласн пароходы=пароход визжать=визжа безмолвный=безмолвн",
    "вникал=вника верхние=верхн бледневший=бледневш выдумывала=выдумыва безрассудным=безрассудн вступаю=вступа",
    "споспешествования=споспешествован препьяные=препьян безумных=безумн теней=тен восстановил=восстанов",
    "барашками=барашк просыпался=просыпа верное=верн выпустила=выпуст доглядит=догляд закончить=законч",
    "беззащитную=беззащитн ухватках=ухватк вопросов=вопрос французского=французск богиня=богин",
    "васильичем=васильич возьмется=возьмет выезжают=выезжа взвешивает=взвешива мешали=меша занялись=заня",
    "выражается=выража приходили=приход выпуклою=выпукл богемии=богем великим=велик воспользоваться=воспользова",
    "беззаботен=беззабот девам=дев глупостию=глупост более=бол всколыхнулись=всколыхнул мучением=мучен душите=душ",
    "выучиться=выуч засаленный=засален дарья=дар вцепился=вцеп вносишь=внос засуетились=засует допускай=допуска",
    "дождалась=дожда двусмысленных=двусмыслен черному=черн выразится=выраз будущих=будущ достало=доста",
    "безукоризненно=безукоризнен заряжанье=заряжан глядят=гляд мучась=муч докончив=доконч встречалось=встреча",
    "воплощенного=воплощен коренные=корен деться=дет гибелью=гибел задумаюсь=задума кутаясь=кут изрекаете=изрека",
    "закружилась=закруж кафтан=кафта истинное=истин белокурыми=белокур выплакав=выплака пожалев=пожал",
    "делаешь=дела заслоненная=заслонен зацелованный=зацелова исполненной=исполнен мешаются=меша",
    "вообразилось=вообраз вспоминайте=вспомина перебраны=перебра встревоженным=встревожен деликатности=деликатн",
    "болезнями=болезн людях=люд летнего=летн загромождена=загроможд",
  ],
  spanish: [
    "cabildo=cabild irma=irma hipotecaria=hipotecari barrote=barrot alcances=alcanc alimañas=alimañ llevar=llev",
    "africanos=african aparezcan=aparezc alarcón=alarcon aclamado=aclam apreciada=apreci actuaron=actu",
    "abordó=abord ampliados=ampli chichen=chich articulación=articul asignando=asign bajadas=baj becker=beck",
    "ascendió=ascend asaltaba=asalt diluir=dilu bibliografía=bibliograf liberará=liber familiarizarse=familiariz",
    "abstenido=absten individualista=individual arriesgamos=arriesg escondida=escond desfondaría=desfond",
    "celeridad=celer alcanzaban=alcanz agredidos=agred consiguiendo=consigu corrieron=corr carrancistas=carranc",
    "generalmente=general intolerable=intoler importantes=import consolidarlo=consolid denunciarán=denunci",
    "esperemos=esper conocería=conoc dinamismo=dinam exigían=exig concentraciones=concentr expresamente=expres",
    "escalante=escal aclarara=aclar practicaran=practic entregarle=entreg inconsecuencia=inconsecuent",
    "adrián=adrian hincapié=hincapi prioridad=priorid emperador=emper coordinadores=coordin emplazamiento=emplaz",
    "utilizarla=utiliz atendidas=atend resistiera=resist expandirse=expand eligirá=elig abortiva=abort",
    "explosivo=explos destinarlos=destin barbaridades=barbar servimos=serv quizá=quiz resarcirán=resarc",
    "exitoso=exit reveladora=revel registrándose=registr misteriosa=misteri quitarnos=quit establecerá=establec",
    "luminosas=lumin meterse=met transmitieran=transmit explosivos=explos israelí=israel utopías=utop",
    "negociables=negoci libanés=libanes rigurosos=rigur sometimiento=somet nandín=nandin relativas=relat",
    "disputarían=disput incongruencias=incongruent comprarme=compr contragolpear=contragolp",
    "desprotegerán=desproteg sigue=sig reforestarlas=reforest intransigentemente=intransigent verificación=verif",
    "avalaremos=aval comprensible=comprens",
  ],
  swedish: [
    "dumt=dumt upprepa=upprep urtypen=urtyp apparanser=apparans artade=art anförde=anförd ammar=amm",
    "alltsammams=alltsammam afslutande=afslut balett=balet beklagat=beklag baserad=baser befolkas=befolk",
    "utgjordes=utgjord billigt=bil djupare=djup darfor=darf förändrades=förändr kroppsliga=kropps",
    "schweizerierna=schweizeri falskhet=falsk rödbrusig=rödbrus denscöconens=denscöcon smidigt=smid",
    "blickarna=blick daglig=dag adliga=adl utmärkta=utmärk flyttfoglarne=flyttfogl finkänslighet=finkäns",
    "gummorna=gumm köparen=köp besagde=besag klövern=klöv manschetter=manschet fullaste=full nedtyngd=nedtyng",
    "klarögda=klarög betydelse=betyd klemandet=klem omständighet=omständ omöjligen=omöj försvunna=försvun",
    "försökte=försök krigsmakten=krigsmak bedröfvelsen=bedröfv hotelser=hot uppmärksamheten=uppmärksam",
    "tarvligaste=tarv åskådarnas=åskåd verkligare=verk sakernas=sak djupast=djup djurgårdsbrunn=djurgårdsbrun",
    "hurtige=hurt taktpinnen=taktpin kloekornas=kloek nödvändigare=nödvänd älsklige=älsk härligheten=här",
    "uppflyttade=uppflyt bemärktes=bemärk skepparens=skepp faderns=fad heligaste=hel otäckheter=otäck",
    "äregirigheten=äregir sandstranden=sandstr hemligheter=hem underrättar=underrät försvunne=försvun",
    "längtat=läng dansandes=dans bekänner=bekän pestsmittad=pestsmit beboddes=bebod förkrosselsens=förkross",
    "papiljotterna=papiljot blygsamhetens=blygsam ormständigheter=ormständ hufvudkudden=hufvudkud skänkts=skänk",
    "troligen=trol rådligast=råd erkännande=erkän nedsättande=nedsät grevinnor=grevin rörelserna=rör",
    "besannade=besan föraktare=förak gräsmattor=gräsmat ödslighetens=öds vårdarinnas=vårdarin fästmannens=fästman",
    "föraktas=förak berömdheterna=berömd klyftigheterna=klyft frisinnad=frisin förbannat=förban",
    "midsommarnattens=midsommarnat",
  ],
  tamil: [
    "முசாபர்நகர்=முசாபர்நகர் பரப்புகள்=பரப்பு கன்னப்=கன்ன லார்க்=லார் தச்சுக்கலை=தச்சுக்கல் ஆணையாளரின்=ஆணையாளர்",
    "அவத்=அவ ஆலமரத்தினடியில்=ஆலமரத்தினடி அடைய=அடை காடுகளாக=காடுகள் ரௌண்ட்=ரௌண்",
    "திரையிடப்பட்டுள்ளது=திரையிடப்பட்டுள்ள பிரபலங்களுக்கு=பிரபலங்கள் நைலும்=நைல் அடுக்குக்குறிச்=அடுக்குக்குறி",
    "பக்கங்களிற்கிடையேயான=பக்கங்களிற்கிடையேய் சுனில்=சுன் பாலூட்டிகளை=பாலூட்டி அழுத்தத்திலிருந்து=அழுத்தத்தில்",
    "தீக்காயங்கள்=தீக்காயம் அகணியின்=அகணி ஃபுலா=ஃபுல் அளவீட்டிற்கு=அளவீட்டி சங்கதத்தில்=சங்கதம்",
    "அடைப்பிதழ்களில்=அடைப்பிதழ் மொழிக்கு=மொழி அமிலத்தின்=அமிலம் தென்ன=தென் பாபிலோனியா=பாபிலோனி",
    "அதிகரிப்புகளின்=அதிகரிப்பு பிரம்மலோகத்தை=பிரம்மலோகம் அதிகரிப்பதையும்=அதிகரிப்பதை அரக்கர்களும்=அரக்கர்",
    "அண்மையிலேயே=அண்மையிலேய் சூடினை=சூடி கொடிமரத்து=கொடிமர அலைவரிசையை=அலைவரிசை இன்டர்நேசியோனல்=இன்டர்நேசியோன்",
    "அமீரகத்தினர்=அமீரகத்தி மரபணுரீதியாக=மரபணுரீதி ஃபிராம்=ஃபிர் அதிகரித்திருந்த=அதிகரித்திரு",
    "அறிமுகப்படுத்துவதற்கான=அறிமுகப்படுத்துவதல் போட்டவர்=போட்ட உட்கொள்வதனால்=உட்கொள்வதன்",
    "நடப்பிலிருக்கும்=நடப்பிலிர் ஆராவில்=ஆரா பிரேக்கிங்=பிரேக்கிம் ஈட்டவும்=ஈட்ட சுந்தர்பாட்டை=சுந்தர்பாடு",
    "யானைகளைக்=யானை பொருள்களாகவும்=பொருள்கள் அளவீடுகளையும்=அளவீடு அறுசுவை=அறுசு தின்னவேண்டும்=தின்னவேண்",
    "அசைவின்=அசை அடியே=அடி ஊட்டமளிக்கும்=ஊட்டமளி மதித்த=மதி அறிமுக=அறிமு உரிமங்களில்=உரிமம் அள்ளுதல்=அள்ளு",
    "அழுத்தமாகும்=அழுத்தம் சீரமைக்க=சீரமை காற்றாலைகளால்=காற்றாலை அமன்டா=அமன் அதிசயத்தைக்=அதிசயம் வகைகளுடன்=வகை",
    "இனத்தால்=இனம் ஆனார்=ஆ அவர்களுக்குரியது=அவர்களுக்குரி கட்டாணியார்=கட்டாணி அரண்நிலையைக்=அரண்நிலை",
    "பரப்பியதற்காக=பரப்பியதல் அனுமான்=அனும் அவினாஷியால்=அவினாஷி ஆரம்பித்துவிடுகிறது=ஆரம்பித்துவிடு அபிசியல்=அபிசி",
    "கொடையையும்=கொடை அருவி=அரு அரசாங்கமானது=அரசாங்கம் மருந்துகளுக்கான=மருந்துகள் அடக்கங்களும்=அடக்கம்",
    "கடிகாரங்களை=கடிகாரம் சாலையாகவும்=சாலை அறிவியலாளர்களைப்=அறிவியலாளர் இதயமுடுக்கியுடன்=இதயமுடுக்கி",
    "ஆக்கங்களின்=ஆக்கம் அருமருந்து=அருமரு குறிப்பிடத்தக்கமைக்கான=குறிப்பிடத்தக்கமை அலுமினம்=அலுமி",
    "அரசுகளிடையான=அரசுகளிடை ஃகோத்தம்புவா=ஃகோத்தம்பு அவசரமாகப்=அவசரம் சேர்ந்துகொண்டார்=சேர்ந்துகொண்",
    "இன்னொருவன்=இன்னொரு அகாய்=அக் ஆத்தூரையும்=ஆத்தூர் சீடர்களைத்=சீடர் சுதந்திரம்தான்=சுதந்திரம்",
  ],
  turkish: [
    "dedirtecek=dedirtecek bosalan=bosala engellili=engellil abarttılar=abarttı akbabalı=akbabal",
    "otobüsçüler=otobüsçü akşamları=akşam döküntüleri=döküntü seçilemediği=seçilemedik alaattin=alaatt",
    "değerlendirileceğini=değerlendirilecek aktardığı=aktardık köle=köl anılmaya=anılma musa=mus açıklara=açık",
    "önceliklerin=öncelik alınacağını=alınacak aramýzda=aramýz aldıklarını=aldık pepside=pepsi",
    "keşfetmeye=keşfetme arayışın=arayış birini=bir görevının=görevı aktarımlarına=aktarım",
    "bilmediklerini=bilmedik adreslerinin=adres arabam=araba girişimcinin=girişimci aranmakta=aranmak",
    "büyüklükte=büyüklük bekletmeden=bekletme katılmasının=katılma aldatan=alda beklemekten=beklemek",
    "camilere=cami ağayı=ağa açıklamadan=açıklama aparatla=aparat aşarken=aşar bankalarının=banka",
    "bilgilendirilmesini=bilgilendirilme alıyoruz=alıyor çıkarını=çıkar adaylardan=aday atakların=atak",
    "cenazeyi=cenaze bekleyelim=bekleyel bozmalarından=bozma tedavilerde=tedavi derinliklerine=derinlik isine=i",
    "geçilmesinin=geçilme aşamasını=aşama completed=completedi gerektkiðine=gerektkið bunlarında=bun",
    "birincilikle=birincilik kalınmıştı=kalınmış csulu=csul yanlışında=yanlış biçiminin=biçim",
    "fotoğraflarla=fotoğraf dövülmelerinden=dövülme tedavisinde=tedavi arabasına=araba bindirildi=bindiril",
    "akciğerlerinde=akciğer başvurursa=başvurur basıldı=basıl edecekti=edecek görünüşü=görünüş ateşının=ateş",
    "konuyordu=konuyor ındeksinde=ındeks bardaklarda=bardak binalarıyla=bina belgelerden=belge aileleriyle=aile",
    "ardına=ardı duyun=duy işiyle=iş belirleyecektir=belirleyecek anlamıyorum=anlamıyor dÿnyadaki=dÿnya",
    "cinayetlerle=cinayet genişleme=genişle canlandırmış=canlandır açýlýþýnda=açýlýþý garsonun=garso",
    "arkasında=arka diplomayla=diploma gerçekliğin=gerçeklik atarım=atar çalıcı=çalıç düşmanı=düşma",
    "bölgesinden=bölge eklenmesiyle=eklenme abbasın=abba",
  ],
} as const;

test("every language except English has pairs", () => {
  assert.deepEqual(["english", ...Object.keys(pairsByLanguage)], [...languages]);
});

for (const language of languages) {
  if (language === "english") continue;
  test(`stems of ${language} are those of Snowball`, () => {
    const stem = stemmerOf(language);
    for (const line of pairsByLanguage[language]) {
      for (const pair of line.split(" ")) {
        const [word = "", expected] = pair.split("=");
        assert.equal(stem(word), expected, word);
      }
    }
  });
}

test("English has the stems that clients expect", () => {
  const stem = stemmerOf("english");
  assert.deepEqual(
    ["running", "studies", "experiments", "runner", "octopuses"].map((word) => stem(word)),
    ["run", "studi", "experi", "runner", "octopus"],
  );
});

test("a stemmer keeps nothing of the word before", () => {
  for (const language of languages) {
    if (language === "english") continue;
    const stem = stemmerOf(language);
    const words = pairsByLanguage[language].flatMap((line) => line.split(" ").map((pair) => pair.split("=")[0] ?? ""));
    const forwards = words.map((word) => stem(word));
    const backwards = words.toReversed().map((word) => stem(word));
    assert.deepEqual(backwards.toReversed(), forwards, language);
  }
});

test("a word without the letters of a language has a stem in each", () => {
  for (const language of languages)
    for (const word of ["", "x", "2024", "𐐷𐐷𐐷ing", "日本語", "\u0130", "ß"])
      assert.equal(typeof stemmerOf(language)(word), "string", `${language} ${word}`);
});

/** Where Debian's package has the lists of words, and their stems in a file beside each. That of Arabic is compressed. */
/** The proof takes the first words of larger lists. */
const VOCABULARY_WORDS_MAX = 100_000;
/** The words of English whose stems release 3 changed. */
const CHANGED_IN_ENGLISH = 38;

const whyNot = isProof() ? missingProgram("snowball-data") : "only in the proof";

test("the vocabularies of all languages have Snowball's stems", { skip: whyNot }, () => {
  for (const language of languages) {
    if (language === "arabic") continue;
    const linesOf = (name: string): string[] =>
      readFileSync(`${SNOWBALL_DATA}/${language}/${name}`, "utf8").split("\n").slice(0, VOCABULARY_WORDS_MAX);
    const stem = stemmerOf(language);
    const expected = linesOf("output.txt");
    const different = linesOf("voc.txt").filter((word, at) => stem(word) !== expected[at]);
    const examples = `${language}: ${different.slice(0, 10).join(" ")}`;
    assert.equal(different.length, language === "english" ? CHANGED_IN_ENGLISH : 0, examples);
  }
});
